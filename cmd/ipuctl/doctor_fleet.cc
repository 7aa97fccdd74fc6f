// SPDX-License-Identifier: Apache-2.0
// doctor: how this host stands in its fleet.
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/doctor_services.h"
#include "cmd/ipuctl/fleet.h"
#include "hook/config/paths.h"
#include "hook/lifecycle/fleet_pin.h"
#include "hook/lifecycle/partitions/own_fence.h"

namespace ipuctl {
namespace {

using namespace base::names;
using doctor::Finding;
using doctor::Verdict;
using hook::fleet::HostState;

constexpr std::chrono::milliseconds kFleetAnswer{2000};  // for each question
constexpr size_t kMaxFinding = 400;
constexpr const char* kCheck = "fleet";

// Returns what to know of a host that others declared dead.
std::optional<Finding> examine_fence(hook::ledger::Ledger& ledger, const std::string& prefix) {
  const auto fence = ledger.fences().own();
  if (!fence.ok() || !fence.value()) return std::nullopt;
  const auto live = ledger.live();
  const std::string tag = ledger.host().tag();
  const size_t left =
      live.ok() ? hook::lifecycle::partitions::cut_off(live.value(), tag, prefix).size() : 0;
  const std::string by =
      fence.value()->by.empty() ? "another host" : str("host ", fence.value()->by);
  const std::string advice =
      left == 0 ? str("run 'ipuctl host forget ", tag, "' on another host of the fleet")
                : str("keep ipu-agent running, which ends them; 'ipuctl ps' shows them");
  return Finding{kCheck, Verdict::kFailed,
                 str(by, " declared this host dead, which it learned at ",
                     base::rfc3339(fence.value()->seen_ms), "; ", left,
                     " of its containers still have IPUs that others may have"),
                 advice};
}

Finding cannot_ask(const Error& error) {
  return {kCheck, Verdict::kFailed, base::one_line(error.message(), kMaxFinding),
          "containers with IPU_PARTITION do not start; 'ipuctl fleet status' asks again"};
}

}  // namespace

std::optional<Finding> examine_fleet(const hook::config::Config& config,
                                     hook::ledger::Ledger& ledger) {
  if (!config.fleet || ::geteuid() != 0) return std::nullopt;
  // The doctor's ledger is a copy, which does not know on which host it is.
  const Status is_here = ledger.host().be_on(hook::lifecycle::this_host(config.host_id));
  if (!is_here.ok()) return cannot_ask(is_here.error());
  const std::string& prefix = config.fleet->prefix;
  if (std::optional<Finding> fence = examine_fence(ledger, prefix)) return fence;
  if (::access(hook::config::fleet_program().c_str(), X_OK) != 0) {
    return Finding{kCheck, Verdict::kFailed,
                   Error::from_errno(errno, str("start ", hook::config::fleet_program())).message(),
                   kInstallShared};
  }
  const Status in = ledger.host().check_in(prefix);
  if (!in.ok() && in.error().code() != Code::kDenied) return cannot_ask(in.error());
  if (!in.ok()) {
    return Finding{kCheck, Verdict::kWarning,
                   "this host has left its fleet, or has begun to leave it",
                   str("to leave, run 'ipuctl fleet leave' and take [fleet] out of ",
                       hook::config::config_file(), "; to stay, run 'ipuctl fleet join'")};
  }
  const auto store = open_store(*config.fleet);
  const Status known =
      hook::lifecycle::check_known_fleet(ledger, *store, prefix, Deadline::after(kFleetAnswer));
  if (!known.ok()) return cannot_ask(known.error());
  std::vector<Error> obstacles;
  const auto hosts =
      hook::fleet::list_hosts(*store, prefix, Deadline::after(kFleetAnswer), obstacles);
  if (!hosts.ok()) return cannot_ask(hosts.error());
  const bool is_alive = std::any_of(
      hosts.value().begin(), hosts.value().end(),
      [&](const HostState& one) { return one.is_alive && one.host.tag == ledger.host().tag(); });
  if (!is_alive) {
    return Finding{kCheck, Verdict::kWarning,
                   "this host is not alive in its fleet, so others take it for dead",
                   "run 'systemctl enable --now ipu-agent.socket ipu-agent.service'"};
  }
  const std::vector<std::string> clocks =
      hook::fleet::clock_troubles(hosts.value(), base::unix_millis());
  if (!clocks.empty()) {
    return Finding{kCheck, Verdict::kWarning, clocks.front(),
                   "run 'timedatectl' there and here; 'ipuctl fleet check' shows all hosts"};
  }
  const std::vector<std::string> witness = witness_troubles(ledger, *config.fleet);
  if (!witness.empty()) {
    return Finding{kCheck, Verdict::kWarning, base::one_line(witness.front(), kMaxFinding),
                   str("run '", config.fleet->fence_witness, " TAG NAME' by hand")};
  }
  return Finding{kCheck, Verdict::kOk,
                 str("this host is alive in its fleet of ", hosts.value().size(), " hosts"), ""};
}

}  // namespace ipuctl
