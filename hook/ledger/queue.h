// SPDX-License-Identifier: Apache-2.0
// The queue of requests that wait for IPUs, in order of arrival.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/process.h"
#include "base/result.h"
#include "hook/ledger/lease.h"
#include "vipu/types.h"

namespace hook::ledger {

struct Store;

struct Waiter {
  int64_t ticket = 0;    // from enter(): increases and is never reused
  std::string resource;  // a pool's name, or "pool/partition"
  std::string container;
  uint32_t ipus = 0;
  base::ProcessId owner;  // the place is void once this process has ended
  std::string boot_id;
  int64_t since_ms = 0;  // unix time
  int64_t until_ms = 0;
  std::string bundle = {};  // of the container
  int64_t user = -1;        // uid of who asked, or who had logged in; -1: unknown
  // The IPUs that those behind it leave to it (vipu/backfill.h); unset: none may pass it.
  std::optional<vipu::Block> pinned = {};
  std::string tenant = {};  // empty: none
  std::string host = {};    // tag, of a request in a fleet's queue; not in the ledger
};

// The most waiters, whatever they wait for: of all together, and of the tenant of one that comes.
struct MostWaiters {
  uint32_t of_all = UINT32_MAX;
  uint32_t of_tenant = UINT32_MAX;
};

class Queue {
 public:
  explicit Queue(Store& store) : store_(store) {}

  // Adds WAITER at the end and returns its ticket. Fails with kBusy, and adds nothing, if
  // MOST.of_all waiters are there, and with kDenied if so many of its tenant are.
  base::Result<int64_t> enter(const Waiter& waiter, const MostWaiters& most = {});
  // Removes the waiter. Returns kWasAbsent if somebody has removed it already. A request that waits
  // and finds its ticket gone gives up.
  base::Result<base::Removed> leave(int64_t ticket);
  // Pins BLOCK for the waiter, in place of the one that it had. Has no effect if it left.
  base::Status pin(int64_t ticket, const vipu::Block& block);
  // Records that the waiter asks for IPUS: the size of a partition is known when it was looked up.
  // Has no effect if it left.
  base::Status resize(int64_t ticket, uint32_t ipus);
  // Returns the waiters for all resources in order of arrival, including those whose process ended.
  base::Result<std::vector<Waiter>> list();

  // Returns the leases of requests that wait and have no IPUs yet, from INTENT to ALLOCATED. While
  // a controller is asked for them, some have no place in the queue.
  base::Result<std::vector<Lease>> starts();
  // Tells the start of one of them to give up: from here on it gets no IPUs. Returns kWasAbsent,
  // and changes nothing, if it has them already, or has failed.
  base::Result<base::Removed> cancel(const Lease& lease);
  // Fails with kBusy, in the words for its user, if the start of the lease was told to give up.
  base::Status check_wanted(const std::string& lease);

 private:
  Store& store_;
};

}  // namespace hook::ledger
