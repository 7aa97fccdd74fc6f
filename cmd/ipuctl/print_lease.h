// SPDX-License-Identifier: Apache-2.0
// Leases, waiting containers, and cleanup results, as text.
#pragma once

#include <string>
#include <vector>

#include "cmd/ipuctl/print.h"
#include "hook/ledger/lease.h"
#include "hook/ledger/partitions.h"
#include "hook/ledger/queue.h"
#include "hook/lifecycle/end/release.h"
#include "hook/lifecycle/end/remains.h"

namespace ipuctl {

[[nodiscard]] std::string leases_text(const std::vector<hook::ledger::Lease>& leases,
                                      Output output);
[[nodiscard]] std::string lease_text(const hook::ledger::Lease& lease, Output output);

// A place in the queue of one resource, from 1.
struct Place {
  size_t position = 0;
  hook::ledger::Waiter waiter;
};
[[nodiscard]] std::string queue_text(const std::vector<Place>& queue, Output output);

// Returns what gc would do, with the reason for each lease.
[[nodiscard]] std::string remains_text(const hook::lifecycle::end::Remains& remains, Output output);
// Returns what was cleaned up. WAITERS are those that lost their places.
[[nodiscard]] std::string cleaned_text(const hook::lifecycle::end::Reconciled& reconciled,
                                       const std::vector<hook::ledger::Waiter>& waiters,
                                       Output output);

}  // namespace ipuctl
