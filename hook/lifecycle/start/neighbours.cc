// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/neighbours.h"

#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "hook/container/oci/powers.h"
#include "hook/container/plan/plan.h"
#include "hook/lifecycle/liveness.h"
#include "hook/lifecycle/network/marks.h"
#include "hook/lifecycle/network/net_admin.h"
#include "hook/passing/passing.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;

constexpr std::chrono::milliseconds kRetry{20};

Result<oci::Powers> powers_in(std::string_view text, oci::Document document) {
  return oci::find_powers(text, document, plan::forbidden_capabilities());
}

Error unreadable(const Error& error) {
  return {Code::kInvalid,
          str(error.message(), ", so it cannot be told whether the container joins the network",
              " of a container with IPUs; correct it, or start the container when 'ipuctl ps'",
              " shows no lease")};
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

bool may_restrict(const std::string& run_dir) { return passing::has_marks(run_dir); }

Result<std::optional<std::string>> restrict_container(const std::string& run_dir,
                                                      std::string_view spec) {
  using Restricted = std::optional<std::string>;
  if (!may_restrict(run_dir)) return Restricted();
  const Result<oci::Powers> found = powers_in(spec, oci::Document::kSpec);
  if (!found.ok()) return unreadable(found.error());
  const oci::Powers& powers = found.value();
  const auto is_marked = [&](const std::string& path) { return network::is_marked(run_dir, path); };
  if (powers.cuts.empty() ||
      std::none_of(powers.namespaces.begin(), powers.namespaces.end(), is_marked)) {
    return Restricted();
  }
  return Restricted(oci::without(spec, powers.cuts));
}

Status check_readable(const std::string& run_dir, const Error& error) {
  if (error.code() != Code::kInvalid || !may_restrict(run_dir)) return {};
  return unreadable(error);
}

std::optional<std::string> restrict_process(const std::string& run_dir,
                                            const std::string& state_dir,
                                            std::string_view process) {
  const Result<base::ProcessId> init = recorded_init(state_dir);
  if (!init.ok() || !network::is_marked(run_dir, str("/proc/", init.value().pid, "/ns/net"))) {
    return std::nullopt;
  }
  const Result<oci::Powers> powers = powers_in(process, oci::Document::kProcess);
  if (!powers.ok() || powers.value().cuts.empty()) return std::nullopt;
  return oci::without(process, powers.value().cuts);
}

}  // namespace hook::lifecycle::start
