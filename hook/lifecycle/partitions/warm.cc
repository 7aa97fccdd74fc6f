// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/partitions/warm.h"

#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "hook/fleet/queue.h"
#include "hook/lifecycle/fleet_place.h"
#include "hook/lifecycle/open_fleet.h"
#include "hook/lifecycle/partitions/fleet_warm.h"
#include "hook/lifecycle/partitions/ownership.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "hook/lifecycle/queue_turn.h"
#include "vipu/placement.h"

namespace hook::lifecycle::partitions {
namespace {

using namespace base::names;

using Fleet = std::optional<OpenFleet>;

bool is_warm_of(const ledger::PartitionRecord& record, const config::PoolConfig& pool) {
  return record.kind == ledger::PartitionKind::kWarm &&
         record.state == ledger::PartitionState::kReady && record.pool == pool.name;
}

Result<std::vector<ledger::PartitionRecord>> warm_of(Env& env, const config::PoolConfig& pool) {
  std::vector<ledger::PartitionRecord> records = TRY(env.ledger.partitions().all());
  std::erase_if(records, [&](const ledger::PartitionRecord& r) { return !is_warm_of(r, pool); });
  return records;
}

// Removes the record first, so that no container takes the partition meanwhile.
Status remove_warm(Env& env, const Fleet& fleet, ledger::PartitionRecord record,
                   const Deadline& deadline) {
  if (fleet && is_fleets(record))
    return remove_from_fleet(env, *fleet, std::move(record), deadline);
  const base::ProcessId self = TRY(base::current_process());
  TRY(env.ledger.partitions().begin_removal(record, self, vipu::Force::kNo));
  const auto controller = recorded_controller(env, record.pool, record.source);
  const Result<base::Removed> gone = controller->remove(record.name, vipu::Force::kYes, deadline);
  if (gone.ok()) return env.ledger.partitions().finish_removal(record, gone.value());
  TRY(env.ledger.partitions().note_failure(record));
  return gone.error();
}

// Returns the surplus: too many of a size, from another source or allocation, or no longer ACTIVE.
// In a fleet, what this host kept warm for itself alone is surplus, too.
Result<std::vector<ledger::PartitionRecord>> unwanted(Env& env, const Fleet& fleet,
                                                      const config::PoolConfig& pool,
                                                      vipu::Controller& controller,
                                                      const Deadline& deadline) {
  const std::vector<ledger::PartitionRecord> records = TRY(warm_of(env, pool));
  std::vector<ledger::PartitionRecord> unwanted;
  if (fleet) unwanted = TRY(unwanted_in_fleet(env, *fleet, pool, controller, deadline));
  if (records.empty()) return unwanted;
  const std::vector<vipu::Partition> listed = TRY(controller.list(deadline));
  const auto is_active = [&](const ledger::PartitionRecord& record) {
    return std::any_of(listed.begin(), listed.end(), [&](const vipu::Partition& partition) {
      const bool is_inside = pool.allocation.empty() || partition.allocation.empty() ||
                             partition.allocation == pool.allocation;
      return partition.id == record.name && partition.ready == vipu::ReadyState::kActive &&
             is_inside;
    });
  };
  std::map<uint32_t, uint32_t> room = fleet ? std::map<uint32_t, uint32_t>() : pool.warm;
  for (const ledger::PartitionRecord& record : records) {
    uint32_t& left = room[record.ipus];
    if (left > 0 && record.source == config::source_of(pool) && is_active(record)) {
      --left;
    } else {
      unwanted.push_back(record);
    }
  }
  return unwanted;
}

Result<ledger::PartitionRecord> new_record(Env& env, const Fleet& fleet,
                                           const config::PoolConfig& pool, uint32_t ipus) {
  ledger::PartitionRecord record;
  record.pool = pool.name;
  record.name = TRY(fleet ? fleet_warm_name(*fleet) : random_name(env, vipu::MadeFor::kWarm));
  if (fleet) record.fleet = fleet->config.prefix;
  record.source = config::source_of(pool);
  record.kind = ledger::PartitionKind::kWarm;
  record.ipus = ipus;
  record.owner = TRY(base::current_process());
  record.boot_id = TRY(base::boot_id());
  record.created_ms = base::unix_millis();
  return record;
}

// The pool to fill, and its controller.
struct Filling {
  Env& env;
  const config::PoolConfig& pool;
  vipu::Controller& controller;
  const Deadline& deadline;
  const Fleet& fleet;  // whose hosts share what is made; unset: it is this host's own
};

// Removes the record of a partition that is not there.
Status forget(const Filling& filling, const ledger::PartitionRecord& record, base::Removed how) {
  ledger::Partitions partitions = filling.env.ledger.partitions();
  const Status forgotten =
      filling.fleet ? fleet::forget_warm(filling.fleet->at_last(), record.pool, record.name)
                    : Status();
  return forgotten.ok() ? partitions.finish_removal(record, how) : partitions.note_failure(record);
}

Status make_warm(const Filling& filling, const ledger::PartitionRecord& record) {
  vipu::PartitionRequest request;
  request.id = record.name;
  request.size = record.ipus;
  request.allocation = filling.pool.allocation;
  request.cluster = filling.pool.cluster;
  const Deadline deadline = filling.deadline.capped(filling.pool.timeout);
  const Result<vipu::Grant> grant = filling.controller.create(request, deadline);
  ledger::Partitions partitions = filling.env.ledger.partitions();
  if (grant.ok() && filling.fleet)
    return give_to_fleet(filling.env, *filling.fleet, filling.pool, record, filling.deadline);
  if (grant.ok()) return partitions.mark_ready(record);
  bool undone = vipu::made_nothing(grant.error());
  base::Removed how = base::Removed::kNow;
  if (!undone) {
    // If it cannot be removed now, or is not there yet because the controller is late, its record
    // tells reconcile() to remove it.
    const Result<base::Removed> removed =
        filling.controller.remove(record.name, vipu::Force::kYes, filling.deadline);
    const bool may_come = grant.error().code() == Code::kTimeout;
    if (removed.ok()) how = removed.value();
    undone = removed.ok() && !(may_come && how == base::Removed::kWasAbsent);
  }
  TRY(undone ? forget(filling, record, how) : partitions.note_failure(record));
  return grant.error();
}

// Returns who waits for IPUs of POOL in the fleet, first come first; none without a fleet.
Result<std::vector<fleet::Ticket>> fleet_line(const Env& env, const config::PoolConfig& pool,
                                              const Deadline& deadline) {
  if (!is_shared(pool)) return std::vector<fleet::Ticket>();
  const std::optional<OpenFleet> fleet = TRY(open_fleet(env));
  if (!fleet) return std::vector<fleet::Ticket>();
  fleet::Line line = TRY(fleet::read_line(fleet->at(deadline), {pool.name}));
  return std::move(line.tickets);
}

// Makes partitions of one size until there are enough, somebody waits for IPUs, or one cannot be
// made. Adds the names to MADE.
Status fill(const Filling& filling, uint32_t ipus, uint32_t limit, std::vector<std::string>& made) {
  for (uint32_t i = 0; i < limit && !filling.deadline.passed(); ++i) {
    const std::vector<ledger::Waiter> waiters = TRY(waiting(filling.env));
    const bool needed = std::any_of(
        waiters.begin(), waiters.end(),
        [&](const ledger::Waiter& waiter) { return waiter.resource == filling.pool.name; });
    if (needed || !TRY(fleet_line(filling.env, filling.pool, filling.deadline)).empty()) return {};
    const ledger::PartitionRecord record =
        TRY(new_record(filling.env, filling.fleet, filling.pool, ipus));
    const ledger::Partitions::Recorded recorded =
        TRY(filling.env.ledger.partitions().intend_warm(record, limit));
    if (recorded == ledger::Partitions::Recorded::kNo) return {};
    const bool has_place =
        !filling.fleet || TRY(begin_in_fleet(filling.env, *filling.fleet, filling.pool, record,
                                             limit, filling.deadline));
    if (!has_place) return {};
    TRY(make_warm(filling, record));
    made.push_back(record.name);
  }
  return {};
}

vipu::Survey without(vipu::Survey survey, const std::vector<ledger::PartitionRecord>& removed) {
  std::erase_if(survey.partitions, [&](const vipu::Partition& partition) {
    return std::any_of(removed.begin(), removed.end(), [&](const ledger::PartitionRecord& record) {
      return record.name == partition.id;
    });
  });
  return survey;
}

}  // namespace

Result<Refilled> refill(Env& env, const config::PoolConfig& pool, const Deadline& deadline) {
  Refilled done;
  // A half-made partition of a refill that died counts until it is removed.
  std::set<std::string> silent;
  done.removed = TRY(reconcile_partitions(env, deadline, {}, done.obstacles, silent));
  const auto controller = env.controller(pool);
  const Fleet fleet = TRY(warm_fleet(env, pool, deadline));
  for (const ledger::PartitionRecord& record :
       TRY(unwanted(env, fleet, pool, *controller, deadline))) {
    Status removed = remove_warm(env, fleet, record, deadline);
    if (removed.ok()) {
      done.removed.push_back(record.name);
    } else {
      done.obstacles.push_back(std::move(removed).error());
    }
  }
  const Filling filling{env, pool, *controller, deadline, fleet};
  for (const auto& [ipus, limit] : pool.warm) {
    Status filled = fill(filling, ipus, limit, done.made);
    if (!filled.ok()) done.obstacles.push_back(std::move(filled).error());
  }
  return done;
}

Result<GivenBack> give_back_warm(Env& env, const config::PoolConfig& pool,
                                 const std::string& allocation, uint32_t ipus,
                                 const Deadline& deadline) {
  if (ipus == 0) return GivenBack::kNone;
  const Fleet fleet = TRY(warm_fleet(env, pool, deadline));
  std::vector<ledger::PartitionRecord> warm;
  if (allocation == pool.allocation) warm = TRY(warm_of(env, pool));
  if (fleet)
    for (ledger::PartitionRecord& one : TRY(removable_in_fleet(*fleet, pool, allocation, deadline)))
      warm.push_back(std::move(one));
  if (warm.empty()) return GivenBack::kNone;
  const vipu::Survey survey = TRY(env.controller(pool)->survey(deadline));
  const vipu::Wanted wanted{ipus, 0};
  const auto makes_room = [&](const std::vector<ledger::PartitionRecord>& removed) {
    return vipu::place(vipu::Occupancy::of(without(survey, removed)), wanted).has_value();
  };
  if (!makes_room(warm)) return GivenBack::kNone;
  // The survey does not show which IPUs are in the allocation. If it shows room anyhow, the warm
  // partitions may fill the allocation.
  const bool is_unexplained = !allocation.empty() && makes_room({});
  if (is_unexplained) warm.erase(warm.begin(), warm.end() - 1);
  // Removes as few as possible: each one that need not go is kept.
  for (size_t i = is_unexplained ? 0 : warm.size(); i-- > 0;) {
    std::vector<ledger::PartitionRecord> fewer = warm;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (makes_room(fewer)) warm = std::move(fewer);
  }
  for (const ledger::PartitionRecord& record : warm) {
    const Status removed = remove_warm(env, fleet, record, deadline);
    // Another process was faster: it removes the partition, or uses it.
    if (!removed.ok() && removed.error().code() != Code::kBusy) return removed.error();
  }
  return warm.empty() ? GivenBack::kNone : GivenBack::kSome;
}

Status give_back_to_fleet(Env& env, const std::vector<config::PoolConfig>& pools,
                          const Deadline& deadline) {
  for (const config::PoolConfig& pool : pools) {
    if (TRY(warm_of(env, pool)).empty()) continue;
    const std::vector<fleet::Ticket> line = TRY(fleet_line(env, pool, deadline));
    if (!line.empty()) TRY(give_back_warm(env, pool, pool.allocation, line.front().ipus, deadline));
  }
  return {};
}

}  // namespace hook::lifecycle::partitions
