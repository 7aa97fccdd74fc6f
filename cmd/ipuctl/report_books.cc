// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/report_books.h"

#include <algorithm>
#include <set>

#include "base/clock.h"
#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/names.h"
#include "cmd/ipuctl/queue_commands.h"
#include "hook/fleet/grants.h"
#include "hook/fleet/warm.h"
#include "hook/ledger/record.h"
#include "hook/lifecycle/fleet_place.h"
#include "vipu/made_name.h"
#include "vipu/placement.h"

namespace ipuctl {
namespace {

using namespace base::names;
using hook::ledger::Lease;
using hook::ledger::LeaseState;
using hook::ledger::PartitionRecord;
using page::Holding;
using page::Ipu;
using page::State;

std::string time_or_none(int64_t unix_ms) { return unix_ms == 0 ? "" : base::rfc3339(unix_ms); }

// Adds that PARTITION of POOL is as IPU says, beside what is known of it. A partition that one
// gives back and another has is held; its tenant is named if all that have it are of one.
void add_holder(Books& books, const std::string& pool, const std::string& partition,
                const Ipu& ipu) {
  if (partition.empty()) return;
  const auto [at, is_new] = books.partitions.emplace(std::pair(pool, partition), ipu);
  if (is_new) return;
  Ipu& known = at->second;
  if (ipu.state == State::kDirty) return;
  if (known.state == State::kDirty) {
    known = ipu;
    return;
  }
  if (known.tenant != ipu.tenant) known.tenant = "(several)";
  known.who += str(known.who.empty() ? "" : ", ", ipu.who);
}

// What is not in the books yet.
void add_spare(Books& books, const std::string& pool, const std::string& partition,
               const Ipu& ipu) {
  books.partitions.emplace(std::pair(pool, partition), ipu);
}

bool is_waiting(const std::vector<hook::ledger::Waiter>& waiting, const std::string& container,
                const std::string& host) {
  return std::any_of(waiting.begin(), waiting.end(), [&](const hook::ledger::Waiter& waiter) {
    return waiter.container == container && waiter.host == host;
  });
}

State state_of(const PartitionRecord& record) {
  using hook::ledger::PartitionKind;
  using hook::ledger::PartitionState;
  if (record.state == PartitionState::kRemoving) return State::kDirty;
  if (!record.reservation.empty()) return State::kReserved;
  if (record.kind == PartitionKind::kWarm) return State::kWarm;
  return record.dirty && !record.reconfigurable ? State::kDirty : State::kKept;
}

// Adds a holding of another host, and its mark on the map.
void add_grant(const hook::fleet::Grant& grant, Books& books) {
  const bool is_reservation = !grant.reservation.empty();
  const std::string partition = !grant.partition.empty() ? grant.partition
                                : is_reservation
                                    ? grant.id
                                    : hook::ledger::partition_name(grant.host, grant.id);
  const std::string who = is_reservation ? grant.reservation : base::short_id(grant.container);
  const std::string shown =
      str(is_reservation ? "reservation " : "container ", who, " on host ", grant.host);
  add_holder(books, grant.pool, partition,
             {is_reservation ? State::kReserved : State::kHeld, grant.tenant, partition, shown});
  books.holdings.push_back({who, is_reservation ? "" : grant.container, grant.host, grant.tenant,
                            grant.pool, partition, grant.ipus,
                            is_reservation ? "RESERVED" : "GRANTED", time_or_none(grant.since_ms)});
}

void add_claims(const hook::fleet::PartitionView& view, const std::string& me, Books& books) {
  const std::string& pool = view.name.pool;
  for (const hook::fleet::Claim& claim : view.claims) {
    if (claim.host == me || !claim.process.empty()) continue;
    add_holder(books, pool, view.name.name,
               {State::kHeld, claim.tenant, view.name.name,
                str("container ", base::short_id(claim.container), " on host ", claim.host)});
    const uint32_t ipus = view.facts.gcds == 0 ? 0 : view.facts.ipus / view.facts.gcds * claim.gcds;
    books.holdings.push_back({base::short_id(claim.container), claim.container, claim.host,
                              claim.tenant, pool, view.name.name, ipus, "CLAIMED",
                              time_or_none(claim.since_ms)});
  }
  const bool is_ready = view.phase == hook::fleet::PartitionPhase::kReady &&
                        (!view.dirty || view.facts.reconfigurable);
  add_spare(books, pool, view.name.name,
            {is_ready ? State::kKept : State::kDirty, "", view.name.name});
}

// Returns what RESULT has; nothing, with its error in OBSTACLES, if it has failed.
template <typename Value>
std::vector<Value> or_none(Result<std::vector<Value>> result, std::vector<Error>& obstacles) {
  if (result.ok()) return std::move(result).take();
  obstacles.push_back(std::move(result).error());
  return {};
}

// Of a name that the toolkit gave and no books have.
std::string maker_of(const std::string& partition) {
  const std::optional<vipu::MadeName> made = vipu::parse_made_name(partition);
  if (!made || made->host.empty() || vipu::is_of_fleet(partition)) return "";
  return str("made by host ", made->host);
}

}  // namespace

Status add_own_books(hook::ledger::Ledger& ledger, const std::vector<hook::ledger::Waiter>& waiting,
                     Books& books) {
  const std::vector<Lease> leases = TRY(ledger.live());
  const Names names = names_of(leases);
  std::set<std::pair<std::string, std::string>> in_use;
  for (const Lease& lease : leases) {
    if (lease.state == LeaseState::kQuarantine) continue;  // its IPUs are free
    if (lease.state == LeaseState::kIntent && is_waiting(waiting, lease.container, "")) continue;
    const std::string name = name_in(names, lease.container);
    const std::string who = name.empty() ? base::short_id(lease.container) : name;
    const bool is_ending = lease.state == LeaseState::kReleasing;
    add_holder(books, lease.pool, lease.partition,
               {is_ending ? State::kDirty : State::kHeld, is_ending ? "" : lease.tenant,
                lease.partition, str("container ", who)});
    in_use.emplace(lease.pool, lease.partition);
    books.holdings.push_back({who, lease.container, "", lease.tenant, lease.pool, lease.partition,
                              lease.ipus, std::string(name_of(lease.state)),
                              time_or_none(lease.created_ms)});
  }
  for (const PartitionRecord& record : TRY(ledger.partitions().all())) {
    const bool is_reservation = !record.reservation.empty();
    const State state = state_of(record);
    add_spare(books, record.pool, record.name,
              {state, state == State::kReserved ? record.tenant : "", record.name,
               is_reservation ? str("reservation ", record.reservation) : ""});
    if (!is_reservation || in_use.contains({record.pool, record.name})) continue;
    books.holdings.push_back({record.reservation, "", "", record.tenant, record.pool, record.name,
                              record.ipus, reservation_state(record),
                              time_or_none(record.created_ms), time_or_none(record.until_ms)});
  }
  return {};
}

void add_fleet_books(const hook::lifecycle::OpenFleet& fleet, const std::string& me,
                     const std::vector<hook::ledger::Waiter>& waiting, Books& books,
                     std::vector<Error>& obstacles) {
  for (const hook::fleet::Grant& grant :
       or_none(hook::fleet::list_grants(fleet.at_last(), obstacles), obstacles)) {
    if (grant.host == me || is_waiting(waiting, grant.container, grant.host)) continue;
    add_grant(grant, books);
  }
  for (const hook::fleet::PartitionView& view :
       or_none(hook::fleet::list_partitions(fleet.at_last(), obstacles), obstacles))
    add_claims(view, me, books);
  for (const hook::fleet::Warm& warm :
       or_none(hook::fleet::list_warm(fleet.at_last(), "", obstacles), obstacles)) {
    const bool is_idle = warm.phase == hook::fleet::WarmPhase::kIdle;
    add_spare(books, warm.kind.pool, warm.name,
              {is_idle ? State::kWarm : State::kDirty, "", warm.name});
  }
}

page::Pool map_of(const hook::config::PoolConfig& pool, const vipu::Survey& survey,
                  const Books& books, bool drained) {
  const vipu::Occupancy occupancy = vipu::Occupancy::of(survey);
  const vipu::Topology& topology = occupancy.topology();
  const bool is_cards = pool.provider == hook::config::Provider::kPcie;
  page::Pool map{pool.name, hook::config::source_of(pool)};
  map.largest_free = vipu::largest_free(occupancy);
  for (uint32_t domain = 0; domain < topology.domains(); ++domain) {
    map.domains.push_back({str(is_cards ? "Card group " : "IPU-Link domain ", domain), {}});
    for (uint32_t i = 0; i < topology.size_of(domain); ++i) {
      const uint32_t number = topology.first_of(domain) + i;
      const std::string& holder = occupancy.holder_of(number);
      const std::string& taint = occupancy.taint_of(number);
      const auto known = books.partitions.find(std::pair(pool.name, holder));
      Ipu ipu;
      if (!holder.empty()) {
        ipu = known != books.partitions.end() ? known->second
                                              : Ipu{State::kOther, "", holder, maker_of(holder)};
      } else if (!taint.empty()) {
        ipu.state = State::kUnhealthy;
      } else if (drained && !hook::lifecycle::is_shared(pool)) {
        ipu.state = State::kDrained;
      }
      ipu.taint = taint;
      map.domains.back().ipus.push_back(std::move(ipu));
    }
  }
  return map;
}

}  // namespace ipuctl
