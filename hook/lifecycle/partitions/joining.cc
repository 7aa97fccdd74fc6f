// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/partitions/joining.h"

#include <algorithm>
#include <optional>

#include "base/names.h"
#include "base/text.h"
#include "hook/config/config.h"
#include "hook/fleet/hosts.h"
#include "hook/fleet/keys.h"
#include "hook/lifecycle/open_fleet.h"
#include "hook/lifecycle/partitions/fleet_claims.h"
#include "hook/lifecycle/partitions/fleet_grants.h"
#include "hook/lifecycle/partitions/fleet_records.h"
#include "hook/lifecycle/partitions/fleet_warm.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "hook/lifecycle/queue_turn.h"

namespace hook::lifecycle::partitions {

using namespace base::names;

void share_named(Env& env, const Deadline& deadline, std::vector<Error>& obstacles) {
  const auto fleet = open_fleet(env);
  if (fleet.ok() && fleet.value()) {
    if (!env.ledger.host().check_in(fleet.value()->config.prefix).ok()) return;
  }
  const auto records = env.ledger.partitions().all();
  if (!records.ok()) return obstacles.push_back(records.error());
  for (const ledger::PartitionRecord& record : records.value()) {
    const bool is_named = record.kind != ledger::PartitionKind::kWarm && record.reservation.empty();
    if (!is_named || !record.fleet.empty() || !config::is_controller(record.source)) continue;
    config::PoolConfig pool;
    pool.name = record.pool;
    pool.provider = config::Provider::kVipu;
    pool.controller = record.source;
    Status shared = learn_partition(env, pool, record.name, deadline);
    if (shared.ok()) continue;
    const bool is_silent = is_silence(shared.error());
    obstacles.push_back(std::move(shared).error());
    if (is_silent) return;  // the others would wait as long
  }
}

namespace {

// Fails if a container of this host has a partition that the host cannot take along, or begins.
Status check_holders(Env& env, const ledger::PartitionRecord& record,
                     const std::optional<OpenFleet>& fleet, const Deadline& deadline) {
  const std::vector<ledger::Lease> leases =
      TRY(env.ledger.partitions().holders(record.pool, record.name));
  if (leases.empty()) return {};
  for (const ledger::Lease& one : leases)
    if (one.state == ledger::LeaseState::kIntent) return ledger::in_use(record.name, {one});
  if (!fleet || record.fleet != fleet->config.prefix) return ledger::in_use(record.name, leases);
  const auto view = TRY(fleet::find_partition(fleet->at(deadline), name_of(record)));
  if (!view || view->facts.maker != env.ledger.host().tag()) {
    return Error(
        Code::kBusy,
        str("partition ", quote(record.name), " of pool ", quote(record.pool), " was made",
            view ? str(" on host ", view->facts.maker) : " by the fleet", ", and container ",
            base::short_id(leases.front().container), " has it; end the container first"));
  }
  return check_claims(env, *fleet, record, fleet::Takes::kOwn, deadline);
}

// Makes a partition that containers of this host have, and of no other one, this host's alone. Each
// step is harmless twice. What is cut short between them, sweep_claims() undoes on a host that
// stays.
Status take_along(Env& env, const OpenFleet& fleet, const ledger::PartitionRecord& record,
                  const Deadline& deadline) {
  const std::string& me = env.ledger.host().tag();
  TRY(fleet::take_along(fleet.at(deadline), name_of(record), me));
  return env.ledger.partitions().take_back(record);
}

// Fails while a container or a reservation of this host begins: it may get what is the fleet's.
Status check_beginners(Env& env) {
  const auto begins = [](const std::string& who, const char* how) {
    return Error(Code::kBusy, str(who, how, "; run 'ipuctl fleet leave' again later"));
  };
  for (const ledger::Waiter& one : TRY(living_waiters(env)))
    return begins(requester_text(one.container), " waits for IPUs");
  for (const ledger::Lease& one : TRY(env.ledger.live()))
    if (one.state == ledger::LeaseState::kIntent)
      return begins(requester_text(one.container), " begins, or 'ipuctl gc' has to release it");
  for (const ledger::PartitionRecord& one : TRY(env.ledger.partitions().all()))
    if (!one.reservation.empty() && one.state == ledger::PartitionState::kIntent)
      return begins(str("reservation ", quote(one.reservation)), " is being made");
  return {};
}

// Fails if RECORD, which containers have and this host alone knows, is known to the fleet as this
// host's: a copy of the store is older than an earlier leave.
Status check_unshared(Env& env, const ledger::PartitionRecord& record, const OpenFleet& fleet,
                      const Deadline& deadline) {
  if (!config::is_controller(record.source)) return {};
  const auto leases = TRY(env.ledger.partitions().holders(record.pool, record.name));
  if (leases.empty()) return {};
  const auto view = TRY(fleet::find_partition(fleet.at(deadline), name_of(record)));
  const std::string& me = env.ledger.host().tag();
  const bool is_known = view && view->facts.maker == me &&
                        !(view->phase == fleet::PartitionPhase::kLeft && view->changer == me);
  if (!is_known) return {};
  return Error(Code::kBusy, str("partition ", quote(record.name), " of pool ", quote(record.pool),
                                " is known to the fleet, and its containers are not; run 'ipuctl"
                                " fleet join' and 'ipuctl gc' first"));
}

// Fails while this host resets a partition of the fleet.
Status check_resets(Env& env, const OpenFleet& fleet, const Deadline& deadline) {
  std::vector<Error> obstacles;
  for (const fleet::PartitionClaim& one : TRY(fleet::list_claims(fleet.at(deadline), obstacles))) {
    const bool is_own = one.claim.host == env.ledger.host().tag();
    if (!is_own || one.claim.process.empty()) continue;
    return Error(Code::kBusy, str("this host resets partition ", quote(one.partition.name),
                                  "; run 'ipuctl fleet leave' again when that has ended, or after"
                                  " 'ipuctl gc'"));
  }
  return {};
}

// Fails if a controller of POOLS has the partition of VIEW, or none of them can have it.
Status check_gone(Env& env, const std::vector<config::PoolConfig>& pools,
                  const fleet::PartitionView& view, const Deadline& deadline) {
  bool is_asked = false;
  for (const config::PoolConfig& pool : pools) {
    // One controller may have two addresses. Hosts of a fleet call their pools alike.
    const bool may_be = pool.name == view.name.pool || config::source_of(pool) == view.facts.source;
    if (pool.provider != config::Provider::kVipu || !may_be) continue;
    is_asked = true;
    for (const vipu::Partition& one : TRY(env.controller(pool)->list(deadline))) {
      if (one.id != view.name.name) continue;
      return Error(Code::kBusy,
                   str("partition ", quote(one.id), " of pool ", quote(pool.name),
                       ", with which host ", view.changer,
                       " left the fleet, is still there; when no container has it any more, remove"
                       " it with 'vipu-admin remove partition ",
                       one.id, "', or run 'ipuctl fleet join' on that host"));
    }
  }
  if (is_asked) return {};
  return Error(Code::kBusy,
               str("partition ", quote(view.name.name), " of pool ", quote(view.name.pool),
                   " is at controller ", view.facts.source,
                   ", which no pool of this host has; run the command on a host that has it"));
}

// Fails if this host cannot leave now.
Status check_leaving(Env& env, const std::vector<ledger::PartitionRecord>& records,
                     const std::optional<OpenFleet>& fleet, const Deadline& deadline) {
  for (const ledger::PartitionRecord& record : records) {
    if (record.fleet.empty()) {
      if (fleet) TRY(check_unshared(env, record, *fleet, deadline));
      continue;
    }
    if (fleet && (is_fleets(record) || record.state != ledger::PartitionState::kReady)) {
      return Error(Code::kBusy,
                   str("partition ", quote(record.name), " of pool ", quote(record.pool),
                       " is half made or half removed; run 'ipuctl gc' first"));
    }
    TRY(check_holders(env, record, fleet, deadline));
  }
  if (fleet) TRY(check_resets(env, *fleet, deadline));
  // Without [fleet] nobody can be asked, and this is the way out.
  for (const ledger::Lease& one : TRY(env.ledger.live())) {
    if (one.claim.empty() || !fleet) continue;
    TRY(open_fleet(env, one.fleet));  // it has this prefix
  }
  return {};
}

// Adds to KEPT what an earlier leave, which was cut short, took along.
Status add_kept_before(Env& env, const OpenFleet& fleet, std::vector<std::string>& kept) {
  std::vector<Error> obstacles;
  for (const fleet::PartitionView& view : TRY(fleet::list_partitions(fleet.at_last(), obstacles))) {
    const std::string& name = view.name.name;
    const bool is_own =
        view.phase == fleet::PartitionPhase::kLeft && view.changer == env.ledger.host().tag();
    if (!is_own || std::count(kept.begin(), kept.end(), name) > 0) continue;
    if (TRY(env.ledger.partitions().find(view.name.pool, name))) kept.push_back(name);
  }
  return {};
}

Status leave_books(Env& env, const OpenFleet& fleet) {
  TRY(fleet::end_claims(fleet.at_last(), env.ledger.host().tag()));
  return leave_grants(env, fleet);
}

Status end_life(Env& env, const OpenFleet& fleet) {
  const fleet::Fleet at = fleet.at_last();
  return fleet::end_beats(at.store, at.prefix, env.ledger.host().tag(), at.deadline);
}

// Some of what this host has may be out of the fleet by now.
Error cut_short(const Error& error) {
  return {error.code(), str(error.message(),
                            "; this host has begun to leave: run 'ipuctl fleet leave' again, or"
                            " 'ipuctl fleet join' to stay")};
}

// Nothing of this host is left in the fleet then, but for partitions that it takes along.
Status end_membership(Env& env, const std::optional<OpenFleet>& fleet) {
  if (fleet) TRY(leave_books(env, *fleet));
  TRY(env.ledger.partitions().disclaim_own());
  if (fleet) TRY(end_life(env, *fleet));
  TRY(env.ledger.host().leave_fleet());
  // What began before and was told meanwhile: a beat, a gc, a reservation.
  if (fleet) TRY(end_grants(env, *fleet));
  return fleet ? end_life(env, *fleet) : Status();
}

}  // namespace

Result<LeftFleet> leave_fleet(Env& env, const Deadline& deadline) {
  LeftFleet left;
  const std::optional<OpenFleet> fleet = TRY(open_fleet(env));
  const std::string& me = env.ledger.host().tag();
  ledger::LedgerHost host = env.ledger.host();
  // A fence takes what the containers of this host have, and a beat has to end them.
  if (fleet) {
    const fleet::Fleet at = fleet->at(deadline);
    const auto fence = TRY(fleet::find_fence(at.store, at.prefix, me, at.deadline));
    if (fence) return fleet::fenced(me);
  }
  const bool was_leaving = fleet && !host.check_in(fleet->config.prefix).ok();
  // No container begins with the fleet from here on.
  TRY(host.begin_leaving());
  const Status begun = check_beginners(env);
  const std::vector<ledger::PartitionRecord> records = TRY(env.ledger.partitions().all());
  const Status ready = begun.ok() ? check_leaving(env, records, fleet, deadline) : begun;
  if (!ready.ok()) {
    if (!was_leaving) TRY(host.come_back());
    return ready.error();
  }
  for (const ledger::PartitionRecord& record : records) {
    if (record.fleet.empty()) continue;
    const bool is_used = !TRY(env.ledger.partitions().holders(record.pool, record.name)).empty();
    Status done = is_used && fleet ? take_along(env, *fleet, record, deadline)
                                   : env.ledger.partitions().unlearn(record);
    if (!done.ok()) {
      const bool is_unchanged = left.kept.empty() && left.forgotten.empty();
      // Nobody knows what is true after silence.
      if (is_unchanged && !was_leaving && !is_silence(done.error())) TRY(host.come_back());
      if (!is_unchanged) return cut_short(done.error());
      return done.error();
    }
    (is_used ? left.kept : left.forgotten).push_back(record.name);
  }
  const Status added = was_leaving ? add_kept_before(env, *fleet, left.kept) : Status();
  if (!added.ok()) return cut_short(added.error());
  const Status ended = end_membership(env, fleet);
  if (!ended.ok()) return cut_short(ended.error());
  return left;
}

Result<bool> forget_left(Env& env, const std::vector<config::PoolConfig>& pools,
                         const std::string& tag, const Deadline& deadline) {
  const std::optional<OpenFleet> fleet = TRY(open_fleet(env));
  if (!fleet) return false;
  bool had_any = false;
  std::vector<Error> obstacles;
  for (const fleet::PartitionView& view :
       TRY(fleet::list_partitions(fleet->at(deadline), obstacles))) {
    if (view.phase != fleet::PartitionPhase::kLeft || view.changer != tag) continue;
    had_any = true;
    TRY(check_gone(env, pools, view, deadline));
  }
  if (had_any) TRY(fleet::forget_left(fleet->at(deadline), tag));
  return had_any;
}

}  // namespace hook::lifecycle::partitions
