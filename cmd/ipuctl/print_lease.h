// SPDX-License-Identifier: Apache-2.0
// Leases, waiting containers, and cleanup results, as text.
#pragma once

#include <string>
#include <vector>

#include "cmd/ipuctl/names.h"
#include "cmd/ipuctl/print.h"
#include "hook/ledger/lease.h"
#include "hook/ledger/partitions.h"
#include "hook/ledger/queue.h"
#include "hook/lifecycle/end/release.h"
#include "hook/lifecycle/end/remains.h"

namespace ipuctl {

// A place in the queue of one resource, from 1.
struct Place {
  size_t position = 0;
  size_t length = 0;  // of that queue
  hook::ledger::Waiter waiter;
  std::string ticket = {};  // its id in the fleet; empty: the fleet does not have it
};
// Returns the pool of a resource, which is "POOL" or "POOL/PARTITION". The name of a pool has no
// '/'.
[[nodiscard]] std::string pool_of(const hook::ledger::Waiter& waiter);
// Returns the places of WAITERS, which are in the order in which they are served.
[[nodiscard]] std::vector<Place> places_of(std::vector<hook::ledger::Waiter> waiters);

// What ps shows.
struct Overview {
  std::vector<hook::ledger::Lease> leases;
  std::vector<Place> queue = {};                                 // those without a lease are listed
  std::vector<hook::ledger::PartitionRecord> reservations = {};  // those that no lease has
};
[[nodiscard]] std::string overview_text(const Overview& overview, const Names& names,
                                        Output output);
[[nodiscard]] std::string lease_text(const hook::ledger::Lease& lease, const std::string& name,
                                     Output output);

// TAG is that of this host in its fleet; empty: it is in none, and neither hosts nor tickets are
// shown.
[[nodiscard]] std::string queue_text(const std::vector<Place>& queue, const Names& names,
                                     Output output, const std::string& tag = "");
// Returns one line: what the container of PLACE waits for, since when and until when.
[[nodiscard]] std::string waiting_text(const Place& place);
// Returns which waiters lost their places.
[[nodiscard]] std::string cancelled_text(const std::vector<hook::ledger::Waiter>& waiters,
                                         Output output);

// Returns what gc would do, with the reason for each lease.
[[nodiscard]] std::string remains_text(const hook::lifecycle::end::Remains& remains, Output output);
// Returns what was cleaned up. WAITERS are those that lost their places.
[[nodiscard]] std::string cleaned_text(const hook::lifecycle::end::Reconciled& reconciled,
                                       const std::vector<hook::ledger::Waiter>& waiters,
                                       Output output);

}  // namespace ipuctl
