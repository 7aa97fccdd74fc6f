// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/tenants.h"

#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/internal/conditions.h"
#include "hook/ledger/internal/store.h"
#include "hook/ledger/partitions.h"

namespace hook::ledger {
namespace {

using namespace base::names;
using sqlite::Database;
using sqlite::Statement;
using sqlite::Step;

// Holdings, of which each GCD counts once for a tenant.
class Count {
 public:
  void add(const Lease& lease) {
    const uint32_t fresh =
        gcds_.add(lease.tenant, lease.pool, lease.partition, lease.gcd, lease.gcds);
    if (fresh == 0) return;
    holdings_.push_back({lease.tenant, lease.pool, lease.container, "",
                         lease.ipus / lease.gcds * fresh, lease.created_ms, 0,
                         lease.state != LeaseState::kIntent});
  }
  void add(const PartitionRecord& record) {
    holdings_.push_back({record.tenant, record.pool, "", record.reservation, record.ipus,
                         record.created_ms, record.until_ms,
                         record.state != PartitionState::kIntent});
  }
  [[nodiscard]] std::vector<Holding> sorted() && {
    std::stable_sort(
        holdings_.begin(), holdings_.end(),
        [](const Holding& one, const Holding& other) { return one.since_ms < other.since_ms; });
    return std::move(holdings_);
  }

 private:
  GcdCount gcds_;
  std::vector<Holding> holdings_;
};

Status count_leases(Database& database, Count& count) {
  Statement row =
      TRY(database.prepare(
          "SELECT tenant, pool, partition, container, gcd, gcds, ipus,"
          " MAX(created_ms, allocated_ms) AS since, state = 'INTENT' FROM lease"
          " WHERE " LEASE_IS_LIVE " AND origin <> 'JOINED' AND NOT EXISTS (SELECT 1 FROM partition"
          " WHERE partition.pool = lease.pool AND partition.name = lease.partition"
          " AND partition.reservation <> '' AND partition.tenant <> '') ORDER BY since, id"));
  while (TRY(row.step()) == Step::kRow) {
    Lease lease;
    lease.tenant = row.text(0);
    lease.pool = row.text(1);
    lease.partition = row.text(2);
    lease.container = row.text(3);
    lease.gcd = static_cast<uint32_t>(row.integer(4));
    lease.gcds = std::max(1U, static_cast<uint32_t>(row.integer(5)));
    lease.ipus = static_cast<uint32_t>(row.integer(6));
    lease.created_ms = row.integer(7);
    lease.state = row.integer(8) != 0 ? LeaseState::kIntent : LeaseState::kAllocated;
    count.add(lease);
  }
  return {};
}

Status count_reservations(Database& database, Count& count) {
  Statement row = TRY(database.prepare(
      "SELECT tenant, pool, reservation, ipus, created_ms, until_ms,"
      " state = 'INTENT' FROM partition WHERE reservation <> '' AND tenant <> ''"));
  while (TRY(row.step()) == Step::kRow) {
    PartitionRecord record;
    record.tenant = row.text(0);
    record.pool = row.text(1);
    record.reservation = row.text(2);
    record.ipus = static_cast<uint32_t>(row.integer(3));
    record.created_ms = row.integer(4);
    record.until_ms = row.integer(5);
    record.state = row.integer(6) != 0 ? PartitionState::kIntent : PartitionState::kReady;
    count.add(record);
  }
  return {};
}

std::string advice(const Share& share) {
  return str("wait with IPU_WAIT=60s, or see 'ipuctl tenant show ", share.tenant, "'");
}

// Returns when a tenant that must give back so many IPUs has done so, as far as the ledger knows.
std::string when_text(const Share& share, const std::vector<Holding>& holdings, uint32_t back) {
  const Holding* first = nullptr;
  for (const Holding& holding : holdings) {
    if (holding.tenant != share.tenant || holding.until_ms == 0) continue;
    if (first == nullptr || holding.until_ms < first->until_ms) first = &holding;
  }
  const std::string ends =
      first == nullptr ? ""
                       : str("; reservation ", quote(first->reservation), " with ", first->ipus,
                             " IPUs ends first, at ", base::rfc3339(first->until_ms));
  return str("it fits when the tenant gives back ", back, ends);
}

}  // namespace

Status check_holdings(const Share& share, uint32_t wanted, const std::vector<Holding>& before,
                      const std::vector<Holding>& after, int64_t now_ms, const ShareWords& words) {
  const TenantUse use = use_of(share, before, now_ms);
  const TenantUse then = use_of(share, after, now_ms);
  if (then.held > share.limit && wanted > share.limit) {
    return Error(Code::kDenied,
                 str("tenant ", quote(share.tenant), " may have at most ", share.limit, " IPUs ",
                     words.where, "; ask for fewer than ", wanted,
                     ", or let an administrator raise its limit ", words.remedy));
  }
  if (then.held > share.limit) {
    return Error(Code::kBusy,
                 str(use_text(share, use), " ", words.where, ", and asks for ", wanted, " more; ",
                     when_text(share, before, then.held - share.limit), "; ", advice(share)));
  }
  if (use.overdue == 0 || then.borrowed <= use.borrowed) return {};
  return Error(Code::kBusy,
               str("tenant ", quote(share.tenant), " has borrowed ", use.overdue,
                   " IPUs for longer than its borrow_time, ",
                   base::format_duration(share.borrow_time), ", and may borrow no more; ",
                   when_text(share, before, use.overdue), "; ", advice(share)));
}

uint32_t GcdCount::add(const std::string& tenant, const std::string& pool,
                       const std::string& partition, uint32_t first, uint32_t gcds) {
  uint32_t fresh = 0;
  for (uint32_t gcd = first; gcd < first + gcds; ++gcd)
    if (seen_.insert({tenant, pool, partition, gcd}).second) ++fresh;
  return fresh;
}

TenantUse use_of(const Share& share, const std::vector<Holding>& holdings, int64_t now_ms) {
  const int64_t overdue_before =
      share.borrow_time.count() == 0 ? INT64_MIN : now_ms - share.borrow_time.count();
  TenantUse use;
  for (const Holding& holding : holdings) {
    if (holding.tenant != share.tenant) continue;
    const uint32_t kept = share.guaranteed > use.held ? share.guaranteed - use.held : 0;
    const uint32_t borrowed = holding.ipus > kept ? holding.ipus - kept : 0;
    use.held += holding.ipus;
    use.borrowed += borrowed;
    if (holding.has_ipus && holding.since_ms < overdue_before) use.overdue += borrowed;
  }
  return use;
}

std::string use_text(const Share& share, const TenantUse& use) {
  const std::string limit = share.limit == UINT32_MAX ? "" : str(" of at most ", share.limit);
  return str("tenant ", quote(share.tenant), " has ", use.held, limit, " IPUs (", share.guaranteed,
             " are guaranteed)");
}

Result<std::vector<Holding>> Tenants::holdings() {
  Count count;
  TRY(count_leases(store_.database, count));
  TRY(count_reservations(store_.database, count));
  return std::move(count).sorted();
}

Status Tenants::check(const Share& share, const Lease& lease) {
  const bool has_limit = share.limit != UINT32_MAX;
  if (lease.ipus == 0 && (has_limit || share.borrow_time.count() != 0)) {
    return Error(Code::kInvalid,
                 str("tenant ", quote(share.tenant), " has a ", has_limit ? "limit" : "borrow_time",
                     ", and this request says not how many IPUs it takes; ask with"
                     " IPU_COUNT=N, or name the cards"));
  }
  Count count;
  TRY(count_leases(store_.database, count));
  TRY(count_reservations(store_.database, count));
  Count with = count;
  with.add(lease);
  return check_holdings(share, lease.ipus, std::move(count).sorted(), std::move(with).sorted(),
                        store_.now());
}

Status Tenants::check(const Share& share, const PartitionRecord& reservation) {
  Count count;
  TRY(count_leases(store_.database, count));
  TRY(count_reservations(store_.database, count));
  Count with = count;
  with.add(reservation);
  return check_holdings(share, reservation.ipus, std::move(count).sorted(),
                        std::move(with).sorted(), store_.now());
}

}  // namespace hook::ledger
