// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/neighbours.h"

#include "base/names.h"
#include "base/text.h"
#include "hook/container/oci/spec.h"
#include "hook/container/plan/plan.h"
#include "hook/lifecycle/liveness.h"
#include "hook/lifecycle/network/marks.h"
#include "hook/lifecycle/network/net_admin.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;

constexpr std::chrono::milliseconds kRetry{20};

oci::SpecEdit restriction() {
  oci::SpecEdit edit;
  edit.forget_capabilities = plan::forbidden_capabilities();
  return edit;
}

std::optional<std::string> changed(Result<std::string> edited, std::string_view original) {
  if (!edited.ok() || edited.value() == original) return std::nullopt;
  return std::move(edited).take();
}

}  // namespace

Status check_neighbours(const std::string& path, pid_t init, const Deadline& deadline) {
  const netns::Namespace network = TRY(netns::Namespace::at(path));
  for (;;) {
    const std::optional<pid_t> found = TRY(network::find_net_admin(network, init));
    if (!found) return {};
    if (deadline.passed()) {
      return Error(Code::kDenied,
                   str("the container is to share the network namespace of process ", *found,
                       ", which has CAP_NET_ADMIN, or may gain it, and could remove the "
                       "container's filter; start"
                       " that container without the capability, or let the administrator set"
                       " shared_net_admin = true in [policy]"));
    }
    base::sleep_for(kRetry, deadline);
  }
}

bool may_restrict(const std::string& run_dir) { return network::has_marks(run_dir); }

std::optional<std::string> restrict_container(const std::string& run_dir, std::string_view spec) {
  if (!may_restrict(run_dir)) return std::nullopt;
  const Result<oci::SpecView> view = oci::parse_spec(spec);
  if (!view.ok() || view.value().network.kind != oci::NetworkNamespace::Kind::kPath ||
      !network::is_marked(run_dir, view.value().network.path)) {
    return std::nullopt;
  }
  return changed(oci::edit_spec(spec, restriction()), spec);
}

std::optional<std::string> restrict_process(const std::string& run_dir,
                                            const std::string& state_dir,
                                            std::string_view process) {
  const Result<base::ProcessId> init = recorded_init(state_dir);
  if (!init.ok() || !network::is_marked(run_dir, str("/proc/", init.value().pid, "/ns/net"))) {
    return std::nullopt;
  }
  return changed(oci::edit_process(process, restriction()), process);
}

}  // namespace hook::lifecycle::start
