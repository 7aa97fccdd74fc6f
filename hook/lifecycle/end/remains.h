// SPDX-License-Identifier: Apache-2.0
// What a reconcile would do, and why; nothing is changed.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/liveness.h"

namespace hook::lifecycle::end {

struct RemainingLease {
  Judged judged;
  // Of one that has ended: what of it is there still. An error: that cannot be told from here, or
  // not now.
  std::vector<std::pair<std::string_view, base::Result<netns::Presence>>> effects;
};

struct Remains {
  std::vector<RemainingLease> leases;               // all live ones
  std::vector<ledger::PartitionRecord> partitions;  // half made, half removed, or late
  std::vector<ledger::Waiter> waiters;              // whose processes ended
};

// Asks each controller by DEADLINE, and none again that does not answer.
base::Result<Remains> find_remains(Env& env, const base::Deadline& deadline);

// Places in the queue whose processes ended.
base::Result<std::vector<ledger::Waiter>> find_dead_waiters(ledger::Ledger& ledger);

}  // namespace hook::lifecycle::end
