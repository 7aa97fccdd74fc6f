// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/network/prohibitions.h"

#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "hook/container/inject/lease_files.h"
#include "hook/lifecycle/network/network_lock.h"
#include "hook/lifecycle/network/sharers.h"
#include "netns/attach.h"

namespace hook::lifecycle::network {
namespace {

using namespace base::names;

// Of one lease. A name whose address changes at each look-up must not fill the kernel and the
// ledger.
constexpr size_t kMostPrefixes = 256;

std::vector<netns::Prefix> missing_of(const ledger::Lease& lease, const Controllers& controllers) {
  std::vector<netns::Prefix> missing;
  if (lease.state != ledger::LeaseState::kRunning || lease.rails.empty()) return missing;
  const std::vector<netns::Prefix>& has = lease.prohibited;
  for (const auto& [address, controller] : controllers) {
    const netns::Prefix prefix = netns::host_prefix(address);
    if (std::find(has.begin(), has.end(), prefix) == has.end()) missing.push_back(prefix);
  }
  return missing;
}

Status check_room(const ledger::Lease& lease, const std::vector<netns::Prefix>& missing) {
  if (lease.prohibited.size() + missing.size() <= kMostPrefixes) return {};
  return Error(Code::kInvalid,
               str("container ", base::short_id(lease.container), " is kept from ",
                   lease.prohibited.size(), " networks, and from no more than ", kMostPrefixes,
                   "; it is not kept from the new addresses of controllers in its own network"
                   " namespace. Start it again, and configure the controller by address"));
}

// The lock and the generation are as in connect_lease(): a release that has begun removes the
// interfaces, and nobody may make them again.
Status keep_lease_from(Env& env, ledger::Lease lease, const std::vector<netns::Prefix>& missing,
                       const netns::Namespace& host, const Deadline& deadline) {
  TRY(check_room(lease, missing));
  const NetworkLock lock = TRY(NetworkLock::take(env.run_dir, lease.netns.cookie, deadline));
  TRY(check_unchanged(env, lease));
  std::vector<ledger::Lease> sharers = TRY(env.ledger.sharers(lease));
  sharers.insert(sharers.begin(), lease);
  const std::optional<netns::Namespace> target = TRY(find_namespace(env, lease, sharers));
  if (!target) return {};  // it has ended
  std::vector<netns::Prefix>& prohibited = sharers.front().prohibited;
  prohibited.insert(prohibited.end(), missing.begin(), missing.end());
  const netns::NetworkPlan plan = TRY(plan_of(env, sharers));
  TRY(netns::attach(plan, host, *target));
  TRY(env.ledger.mark_prohibited(lease, missing));
  return inject::write_lease_record(env.run_dir, lease);
}

// Leases of an earlier boot, or of another network namespace of the host, are not touched.
Result<std::vector<ledger::Lease>> attached_leases(Env& env, const netns::Namespace& host) {
  const std::string boot = TRY(base::boot_id());
  std::vector<ledger::Lease> live = TRY(env.ledger.live());
  std::erase_if(live, [&](const ledger::Lease& lease) {
    return lease.netns_id < 0 || lease.boot_id != boot ||
           lease.host_netns_cookie != host.identity().cookie;
  });
  return live;
}

Status keep_all_from(Env& env, const Controllers& controllers, const Deadline& deadline,
                     std::vector<Error>& obstacles) {
  const netns::Namespace host = TRY(netns::Namespace::current());
  for (const ledger::Lease& lease : TRY(attached_leases(env, host))) {
    const std::vector<netns::Prefix> missing = missing_of(lease, controllers);
    if (missing.empty()) continue;
    const Status done = keep_lease_from(env, lease, missing, host, deadline);
    // If another process has changed it, as a release does, the next look finds what is missing.
    if (done.ok() || !check_unchanged(env, lease).ok()) continue;
    obstacles.emplace_back(done.error().code(),
                           str("keep container ", base::short_id(lease.container),
                               " from new addresses of controllers: ", done.error().message()));
  }
  return {};
}

}  // namespace

Result<bool> lags_behind(Env& env, const Controllers& controllers) {
  const netns::Namespace host = TRY(netns::Namespace::current());
  const std::vector<ledger::Lease> live = TRY(attached_leases(env, host));
  return std::any_of(live.begin(), live.end(), [&](const ledger::Lease& lease) {
    const size_t missing = missing_of(lease, controllers).size();
    return missing > 0 && lease.prohibited.size() + missing <= kMostPrefixes;
  });
}

std::vector<Error> follow_controllers(Env& env, const config::Config& config,
                                      const Deadline& deadline) {
  Remembered known = remembered_controllers(env.run_dir, config);
  std::vector<Error> obstacles = std::move(known.damaged);
  Status done = keep_all_from(env, known.controllers, deadline, obstacles);
  if (!done.ok()) obstacles.push_back(std::move(done).error());
  return obstacles;
}

}  // namespace hook::lifecycle::network
