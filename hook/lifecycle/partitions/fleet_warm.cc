// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/partitions/fleet_warm.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/names.h"
#include "base/text.h"
#include "hook/lifecycle/fleet_pin.h"
#include "hook/lifecycle/fleet_place.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "vipu/made_name.h"

namespace hook::lifecycle::partitions {
namespace {

using namespace base::names;

constexpr std::string_view kHandedOver = "the fleet has it";

const std::string& me(const Env& env) { return env.ledger.host().tag(); }

fleet::Warm warm_of(const Env& env, const config::PoolConfig& pool,
                    const ledger::PartitionRecord& record) {
  fleet::Warm warm;
  warm.kind = fleet::warm_kind(pool, record.ipus);
  warm.name = record.name;
  warm.maker = warm.changer = me(env);
  warm.since_ms = record.created_ms;
  return warm;
}

ledger::PartitionRecord record_of(const fleet::Warm& warm, const std::string& prefix) {
  ledger::PartitionRecord record;
  record.pool = warm.kind.pool;
  record.name = warm.name;
  record.source = warm.kind.source;
  record.kind = ledger::PartitionKind::kWarm;
  record.state = ledger::PartitionState::kReady;
  record.ipus = warm.kind.ipus;
  record.created_ms = warm.since_ms;
  record.fleet = prefix;
  return record;
}

// Returns the partitions at POOL's controller that the fleet keeps warm. A record that cannot be
// read is something else's, and nobody takes it.
Result<std::vector<fleet::Warm>> list_of(const OpenFleet& fleet, const config::PoolConfig& pool,
                                         const Deadline& deadline) {
  std::vector<Error> obstacles;
  std::vector<fleet::Warm> all = TRY(fleet::list_warm(fleet.at(deadline), pool.name, obstacles));
  const std::string source = config::source_of(pool);
  std::erase_if(all, [&](const fleet::Warm& one) { return one.kind.source != source; });
  return all;
}

// Returns how many of KIND the configuration keeps warm in POOL.
int64_t limit_of(const config::PoolConfig& pool, const fleet::WarmKind& kind) {
  const auto limit = pool.warm.find(kind.ipus);
  const bool is_wanted = limit != pool.warm.end() && kind == fleet::warm_kind(pool, kind.ipus);
  return is_wanted ? int64_t{limit->second} : 0;
}

}  // namespace

Result<std::optional<OpenFleet>> warm_fleet(Env& env, const config::PoolConfig& pool,
                                            const Deadline& deadline) {
  if (!is_shared(pool)) return std::optional<OpenFleet>();
  std::optional<OpenFleet> fleet = TRY(open_fleet(env));
  if (!fleet || !fleet->id.empty()) return fleet;
  const std::string& prefix = fleet->config.prefix;
  TRY(join_known_fleet(env.ledger, *fleet->store, prefix, fleet->at(deadline).deadline));
  fleet->id = TRY(env.ledger.host().fleet_id(prefix));
  return fleet;
}

Result<std::string> fleet_warm_name(const OpenFleet& fleet) {
  std::string number = TRY(base::random_hex(vipu::kNumberDigits / 2));
  const std::string tag = fleet.id.substr(0, vipu::kHostDigits);
  return vipu::to_string({vipu::MadeFor::kFleetWarm, tag, std::move(number)});
}

bool is_fleets(const ledger::PartitionRecord& record) {
  return record.kind == ledger::PartitionKind::kWarm && !record.fleet.empty();
}

Result<std::vector<ledger::PartitionRecord>> removable_in_fleet(const OpenFleet& fleet,
                                                                const config::PoolConfig& pool,
                                                                const std::string& allocation,
                                                                const Deadline& deadline) {
  const auto is_elsewhere = [&](const fleet::Warm& one) {
    return !allocation.empty() && !one.kind.allocation.empty() && one.kind.allocation != allocation;
  };
  std::vector<ledger::PartitionRecord> records;
  for (const fleet::Warm& one : TRY(list_of(fleet, pool, deadline)))
    if (one.phase != fleet::WarmPhase::kMaking && !is_elsewhere(one))
      records.push_back(record_of(one, fleet.config.prefix));
  return records;
}

Result<std::vector<ledger::PartitionRecord>> unwanted_in_fleet(Env& env, const OpenFleet& fleet,
                                                               const config::PoolConfig& pool,
                                                               vipu::Controller& controller,
                                                               const Deadline& deadline) {
  // The store first: one that is made meanwhile is idle only after the controller has it.
  const std::vector<fleet::Warm> all = TRY(list_of(fleet, pool, deadline));
  std::vector<ledger::PartitionRecord> unwanted;
  if (all.empty()) return unwanted;
  std::set<std::string> active;
  for (const vipu::Partition& one : TRY(controller.list(deadline)))
    if (one.ready == vipu::ReadyState::kActive) active.insert(one.id);
  const auto is_usable = [&](const fleet::Warm& one) {
    return one.phase == fleet::WarmPhase::kIdle && active.contains(one.name);
  };
  std::set<std::string> gone;
  // Hosts may keep different kinds warm, so each kind is counted alone.
  const auto left = [&](const fleet::WarmKind& kind) {
    return std::count_if(all.begin(), all.end(), [&](const fleet::Warm& one) {
      return one.kind == kind && is_usable(one) && !gone.contains(one.name);
    });
  };
  for (const fleet::Warm& one : all) {
    if (one.phase != fleet::WarmPhase::kIdle) continue;
    const bool is_mine = one.maker == me(env);  // another host's are for that host to judge
    if (is_usable(one) && !(is_mine && left(one.kind) > limit_of(pool, one.kind))) continue;
    gone.insert(one.name);
    unwanted.push_back(record_of(one, fleet.config.prefix));
  }
  return unwanted;
}

Result<bool> begin_in_fleet(Env& env, const OpenFleet& fleet, const config::PoolConfig& pool,
                            const ledger::PartitionRecord& record, uint32_t limit,
                            const Deadline& deadline) {
  const Result<bool> begun =
      fleet::begin_warm(fleet.at(deadline), warm_of(env, pool, record), limit);
  if (begun.ok() && !begun.value())
    TRY(env.ledger.partitions().hand_over(record, "the fleet has enough"));
  // It may be there nevertheless: its record tells reconcile() to look.
  if (!begun.ok()) TRY(env.ledger.partitions().note_failure(record));
  return begun;
}

Status give_to_fleet(Env& env, const OpenFleet& fleet, const config::PoolConfig& pool,
                     const ledger::PartitionRecord& record, const Deadline& deadline) {
  const Status given = fleet::finish_warm(fleet.at(deadline), warm_of(env, pool, record));
  if (given.ok()) return env.ledger.partitions().hand_over(record, kHandedOver);
  TRY(env.ledger.partitions().note_failure(record));
  return given;
}

Status remove_from_fleet(Env& env, const OpenFleet& fleet, ledger::PartitionRecord record,
                         const Deadline& deadline) {
  record.state = ledger::PartitionState::kRemoving;
  record.owner = TRY(base::current_process());
  record.boot_id = TRY(base::boot_id());
  const Status intended = env.ledger.partitions().intend(record);
  if (!intended.ok() && intended.error().code() == Code::kExists)
    return Error(Code::kBusy, intended.error().message());
  TRY(intended);
  return finish_in_fleet(env, fleet, record, deadline);
}

Status finish_in_fleet(Env& env, const OpenFleet& fleet, const ledger::PartitionRecord& record,
                       const Deadline& deadline) {
  ledger::Partitions partitions = env.ledger.partitions();
  const auto fails = [&](const Error& error) -> Status {
    TRY(partitions.note_failure(record));
    return error;
  };
  // A container of this host may have it, and the store went back.
  const bool is_held = !TRY(partitions.holders(record.pool, record.name)).empty();
  const Result<fleet::WarmFate> fate =
      is_held ? Result<fleet::WarmFate>(fleet::WarmFate::kOthers)
              : fleet::begin_warm_removal(fleet.at(deadline), record.pool, record.name, me(env));
  if (!fate.ok()) return fails(fate.error());
  if (fate.value() == fleet::WarmFate::kOthers) {
    TRY(partitions.hand_over(record, kHandedOver));
    return Error(Code::kBusy, str("partition ", quote(record.name), " of pool ", quote(record.pool),
                                  " is a container's by now"));
  }
  const auto controller = recorded_controller(env, record.pool, record.source);
  // Nobody made it, or it is gone, unless the store is an older copy: then a container of another
  // host may have it, whose grant comes back with that host.
  if (fate.value() == fleet::WarmFate::kNobody) {
    const Result<std::vector<vipu::Partition>> listed = controller->list(deadline);
    if (!listed.ok()) return fails(listed.error());
    const bool is_there =
        std::any_of(listed.value().begin(), listed.value().end(),
                    [&](const vipu::Partition& one) { return one.id == record.name; });
    if (!is_there) return partitions.finish_removal(record, base::Removed::kWasAbsent);
    return fails(Error(Code::kInternal,
                       str("partition ", quote(record.name), " of pool ", quote(record.pool),
                           " is there, and etcd does not know whose it is; run 'ipuctl ps' on each"
                           " host; if none shows the partition, run Graphcore's 'vipu-admin remove"
                           " partition ",
                           record.name, "'")));
  }
  const Result<base::Removed> removed =
      controller->remove(record.name, vipu::Force::kYes, deadline);
  if (!removed.ok()) return fails(removed.error());
  const Status forgotten = fleet::forget_warm(fleet.at(deadline), record.pool, record.name);
  if (!forgotten.ok()) return fails(forgotten.error());
  return partitions.finish_removal(record, removed.value());
}

namespace {

// Returns whether a container of this host, not that of LEASE, has the partition by another grant
// than OWN. It may not be in a store that went back.
Result<bool> has_another(const Env& env, const std::string& pool, const std::string& name,
                         const std::string& own, const std::string& lease) {
  for (const ledger::Lease& one : TRY(env.ledger.partitions().holders(pool, name))) {
    if (one.origin != ledger::Origin::kOwn || one.id == lease || one.claim == own) continue;
    if (one.state != ledger::LeaseState::kReleasing) return true;
    // It removes the partition, or leaves it to the one that asks.
    return Error(Code::kBusy, str("partition ", quote(name), " of pool ", quote(pool),
                                  " is being given back by container ",
                                  base::short_id(one.container), "; 'ipuctl gc' looks again"));
  }
  return false;
}

}  // namespace

Result<Removable> begin_end_of_taken(const Env& env, const OpenFleet& fleet,
                                     const std::string& pool, const std::string& name,
                                     const std::string& own, const Deadline& deadline,
                                     const std::string& lease) {
  if (!vipu::is_of_fleet(name)) return Removable::kNo;
  if (TRY(has_another(env, pool, name, own, lease))) return Removable::kNo;
  const fleet::WarmFate fate =
      TRY(fleet::begin_warm_removal(fleet.at(deadline), pool, name, me(env), own));
  // sweep_warm() forgets the record of one that became this host's to remove.
  return fate == fleet::WarmFate::kOthers ? Removable::kNo : Removable::kYes;
}

bool has_taken(const ledger::Lease& lease) {
  return !lease.claim.empty() && vipu::is_of_fleet(lease.partition);
}

Result<Removable> may_remove(const Env& env, const ledger::Lease& lease, Asks asks,
                             const Deadline& deadline) {
  const std::string& name = lease.partition;
  const OpenFleet fleet = TRY(open_fleet(env, lease.fleet));
  if (asks == Asks::kBegins)
    return begin_end_of_taken(env, fleet, lease.pool, name, lease.claim, deadline, lease.id);
  if (TRY(has_another(env, lease.pool, name, lease.claim, lease.id))) return Removable::kNo;
  const fleet::WarmFate fate =
      TRY(fleet::warm_fate(fleet.at(deadline), lease.pool, name, me(env), lease.claim));
  return fate == fleet::WarmFate::kOthers ? Removable::kNo : Removable::kYes;
}

Status sweep_warm(Env& env, const OpenFleet& fleet, std::vector<Error>& obstacles) {
  // The store first: the ledger knows of each before the store does.
  const std::vector<fleet::Warm> all = TRY(fleet::list_warm(fleet.at_last(), "", obstacles));
  for (const fleet::Warm& one : all) {
    if (one.changer != me(env)) continue;
    if (TRY(env.ledger.partitions().find(one.kind.pool, one.name))) continue;
    // The release of a container removes it.
    if (!TRY(env.ledger.partitions().holders(one.kind.pool, one.name)).empty()) continue;
    // Unless it has been made meanwhile.
    if (!TRY(fleet::begin_warm_removal_as_seen(fleet.at_last(), one, me(env)))) continue;
    TRY(env.ledger.events().record(
        str("removes the lost warm partition ", one.name, " of pool ", one.kind.pool)));
    const auto controller = recorded_controller(env, one.kind.pool, one.kind.source);
    const Result<base::Removed> removed =
        controller->remove(one.name, vipu::Force::kYes, Deadline::after(kLongestAttempt));
    if (!removed.ok()) obstacles.push_back(removed.error());
    if (removed.ok()) TRY(fleet::forget_warm(fleet.at_last(), one.kind.pool, one.name));
  }
  return {};
}

}  // namespace hook::lifecycle::partitions
