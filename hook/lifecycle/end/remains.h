// SPDX-License-Identifier: Apache-2.0
// Reports what a reconcile would do, and why. Nothing is changed.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/liveness_scan.h"

namespace hook::lifecycle::end {

struct RemainingLease {
  Judged judged;
  // What still exists of an ended lease, by effect. An error: its presence cannot be determined
  // from here, or not now.
  std::vector<std::pair<std::string_view, base::Result<netns::Presence>>> effects;
};

struct Remains {
  std::vector<RemainingLease> leases;               // all live leases
  std::vector<ledger::PartitionRecord> partitions;  // half-made, half-removed and late ones
  std::vector<ledger::Waiter> waiters;              // those whose processes ended
  std::vector<ledger::Endpoint> endpoints;          // those that ended, of containers that run
};

// Collects the remains. Asks each controller until DEADLINE, and none again that does not answer.
base::Result<Remains> find_remains(Env& env, const base::Deadline& deadline);

// Returns the places in the queue whose processes ended.
base::Result<std::vector<ledger::Waiter>> find_dead_waiters(ledger::Ledger& ledger);

}  // namespace hook::lifecycle::end
