// SPDX-License-Identifier: Apache-2.0
// What each tenant has, and whether it may have more. Everything is computed from live leases and
// reservations: there is no counter, so a process that is killed leaves no share in use.
#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "hook/ledger/lease.h"

namespace hook::ledger {

struct PartitionRecord;
struct Store;

// The share of one tenant, from its table in the configuration.
struct Share {
  std::string tenant;
  uint32_t guaranteed = 0;                   // IPUs that are no loan
  uint32_t limit = UINT32_MAX;               // the most IPUs at a time
  std::chrono::milliseconds borrow_time{0};  // until what is beyond guaranteed is overdue; 0: never
};

// What a tenant has by one lease or reservation. IPUs count once: a reservation counts, and not the
// leases of its containers; a lease that joined another counts nothing, and of leases that share a
// GCD only the oldest of the tenant counts it.
struct Holding {
  std::string tenant;
  std::string pool;
  std::string container;    // its id; empty: it is a reservation
  std::string reservation;  // its name; empty: it is a lease
  uint32_t ipus = 0;
  int64_t since_ms = 0;  // unix time at which it got its IPUs, or was asked for, if it has none yet
  int64_t until_ms = 0;  // unix time of the end of a reservation; 0: not known
  bool has_ipus = true;  // false: it asks for them, so it is never overdue
  std::string host = {};  // tag of the host that has it, in a fleet; empty: this one
};

// Which GCDs count for their tenants: each once for a tenant, however many containers share it.
class GcdCount {
 public:
  // Returns how many of GCDS GCDs of a partition, from FIRST on, TENANT has by nothing that was
  // added before.
  uint32_t add(const std::string& tenant, const std::string& pool, const std::string& partition,
               uint32_t first, uint32_t gcds);

 private:
  std::set<std::tuple<std::string, std::string, std::string, uint32_t>> seen_;
};

// What one tenant has, compared with its share. Its oldest IPUs are those that are guaranteed.
struct TenantUse {
  uint32_t held = 0;
  uint32_t borrowed = 0;  // of these: beyond what is guaranteed
  uint32_t overdue = 0;   // of these: for longer than borrow_time
};

// Returns the use of SHARE's tenant at the unix time NOW_MS. HOLDINGS are oldest first.
[[nodiscard]] TenantUse use_of(const Share& share, const std::vector<Holding>& holdings,
                               int64_t now_ms);
// Returns "tenant 'a' has 12 of at most 16 IPUs (8 are guaranteed)".
[[nodiscard]] std::string use_text(const Share& share, const TenantUse& use);

// Where a share holds, in the words of its errors.
struct ShareWords {
  std::string_view where = "on this host";
  std::string_view remedy = "in config.toml";
};
// Fails as Tenants::check() if the tenant may not have WANTED IPUs. BEFORE is what there is without
// them, AFTER with them, both oldest first.
base::Status check_holdings(const Share& share, uint32_t wanted, const std::vector<Holding>& before,
                            const std::vector<Holding>& after, int64_t now_ms,
                            const ShareWords& words = {});

class Tenants {
 public:
  explicit Tenants(Store& store) : store_(store) {}

  // Returns what each tenant has, oldest first.
  base::Result<std::vector<Holding>> holdings();

  // Return whether the tenant may have LEASE or RESERVATION, which is not in the ledger yet, too.
  // The caller inserts it in the same transaction, so that two requests at once never exceed a
  // limit. Fail with kDenied if it is more than the limit, with kInvalid if its size is not known,
  // and with kBusy if it fits later; the error says when, as far as that is known.
  base::Status check(const Share& share, const Lease& lease);
  base::Status check(const Share& share, const PartitionRecord& reservation);

 private:
  Store& store_;
};

}  // namespace hook::ledger
