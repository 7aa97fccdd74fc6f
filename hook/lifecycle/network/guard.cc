// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/network/guard.h"

#include <set>

#include "base/names.h"
#include "hook/lifecycle/network/network_lock.h"

namespace hook::lifecycle::network {

using namespace base::names;

netns::Guard guard_of(const config::Config& config, const Controllers& controllers,
                      const std::vector<ledger::Lease>& live) {
  const config::NetworkConfig& network = config.network;
  netns::Guard guard;
  std::set<netns::Prefix> prefixes(network.forbidden.begin(), network.forbidden.end());
  for (const config::RailConfig& rail : network.rails) {
    if (!rail.parent.empty()) guard.interfaces.push_back(rail.parent);
    prefixes.insert(rail.subnet);
  }
  for (const auto& [address, controller] : controllers) {
    prefixes.insert(netns::host_prefix(address));
  }
  for (const ledger::Lease& lease : live) {
    prefixes.insert(lease.prohibited.begin(), lease.prohibited.end());
  }
  guard.prefixes.assign(prefixes.begin(), prefixes.end());
  guard.allowed = network.forward_allowed;
  return guard;
}

namespace {

// Adds the addresses of the guard that stands to GUARD: some may be of a controller whose addresses
// nobody knows any more.
Status keep_addresses(const netns::Namespace& host, netns::Guard& guard) {
  std::set<netns::Prefix> prefixes(guard.prefixes.begin(), guard.prefixes.end());
  for (const netns::Prefix& prefix : TRY(netns::guarded_prefixes(host))) {
    if (prefix == netns::host_prefix(prefix.address)) prefixes.insert(prefix);
  }
  guard.prefixes.assign(prefixes.begin(), prefixes.end());
  return {};
}

}  // namespace

Result<Mended> guard_forwarding(Env& env, const config::Config& config, const Deadline& deadline) {
  const std::optional<bool> wanted = config.network.guard_forwarding;
  if (!wanted) return Mended::kNo;
  const netns::Namespace host = TRY(netns::Namespace::current());
  const NetworkLock lock = TRY(NetworkLock::take(env.run_dir, kGuardLock, deadline));
  if (!*wanted) {
    const base::Removed removed = TRY(netns::remove_guard(host));
    return removed == base::Removed::kNow ? Mended::kYes : Mended::kNo;
  }
  const Remembered known = remembered_controllers(env.run_dir, config);
  const std::vector<ledger::Lease> live = TRY(env.ledger.live());
  netns::Guard guard = guard_of(config, known.controllers, live);
  if (!known.damaged.empty()) TRY(keep_addresses(host, guard));
  const netns::Ensured ensured = TRY(netns::ensure_guard(host, guard));
  return ensured == netns::Ensured::kMade ? Mended::kYes : Mended::kNo;
}

}  // namespace hook::lifecycle::network
