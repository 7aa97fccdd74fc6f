// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/network/bridges.h"

#include <algorithm>

#include "base/names.h"
#include "base/text.h"

namespace hook::lifecycle::network {
namespace {

using namespace base::names;

bool has_bridge(const ledger::Lease& lease, const std::string& parent) {
  return std::any_of(lease.rails.begin(), lease.rails.end(), [&](const ledger::RailLease& rail) {
    return rail.parent == parent && rail.mode == netns::MacvlanMode::kBridge;
  });
}

}  // namespace

Status check_bridges(Env& env, const config::NetworkConfig& config, const ledger::Lease& lease) {
  for (const config::RailConfig& rail : config.rails) {
    if (rail.shared_bridge != false || !has_bridge(lease, rail.parent)) continue;
    for (const ledger::Lease& other : TRY(env.ledger.live())) {
      if (other.attachment == lease.attachment || !has_bridge(other, rail.parent)) continue;
      return Error(Code::kBusy,
                   str("network.rail '", rail.parent, "' has mode \"bridge\", and container ",
                       base::one_line(other.container, 12),
                       " uses it; stop that container (see 'ipuctl ps'), or let the administrator"
                       " set mode = \"private\" or shared_bridge = true in [[network.rail]]"));
    }
  }
  return {};
}

}  // namespace hook::lifecycle::network
