// SPDX-License-Identifier: Apache-2.0
// The end of a start that fails.
#pragma once

#include <utility>
#include <vector>

#include "base/result.h"
#include "hook/lifecycle/end/release.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::start {

// Returns what a create of the partition of LEASE that failed with ERROR leaves.
[[nodiscard]] end::PartitionFate fate_after(const ledger::Lease& lease, const base::Error& error);

// Releases what LEASE holds and returns ERROR, which ended it. Records in the ledger what cannot be
// released now.
base::Error abandon(Env& env, ledger::Lease lease, const base::Error& error,
                    end::PartitionFate partition);

// The leases of one start whose addresses other hosts have. They keep their partitions until the
// start has another one, or fails: the controller would give the same IPUs again. Its destructor
// abandons them.
class SetAside {
 public:
  explicit SetAside(Env& env) : env_(env) {}
  SetAside(const SetAside&) = delete;
  SetAside& operator=(const SetAside&) = delete;
  ~SetAside();
  void add(ledger::Lease lease, base::Error why) {
    leases_.emplace_back(std::move(lease), std::move(why));
  }
  [[nodiscard]] size_t size() const { return leases_.size(); }
  // Return the newest of them, and why it was added; there is one.
  [[nodiscard]] const ledger::Lease& last() const { return leases_.back().first; }
  [[nodiscard]] const base::Error& why() const { return leases_.back().second; }

 private:
  Env& env_;
  std::vector<std::pair<ledger::Lease, base::Error>> leases_;
};

}  // namespace hook::lifecycle::start
