// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/partitions/joining.h"

#include <optional>

#include "base/names.h"
#include "base/text.h"
#include "hook/config/config.h"
#include "hook/fleet/hosts.h"
#include "hook/lifecycle/fleet_pin.h"
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
    const auto left = has_left(env.ledger, fleet.value()->config.prefix);
    if (left.ok() && left.value()) return;
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
// step is harmless twice.
Status take_back(Env& env, const OpenFleet& fleet, const ledger::PartitionRecord& record,
                 const Deadline& deadline) {
  const std::string& me = env.ledger.host().tag();
  TRY(fleet::begin_removal(fleet.at(deadline), name_of(record), me, fleet::Takes::kOwn));
  const Status taken = env.ledger.partitions().take_back(record);
  if (!taken.ok()) (void)fleet::cancel_removal(fleet.at_last(), name_of(record), me);
  TRY(Status(taken));
  return fleet::take_back(fleet.at_last(), name_of(record), me);
}

// Ends the last step of take_back() where it was cut short.
Status end_take_backs(Env& env, const OpenFleet& fleet) {
  const std::string& me = env.ledger.host().tag();
  std::vector<Error> obstacles;
  for (const fleet::PartitionView& view : TRY(fleet::list_partitions(fleet.at_last(), obstacles))) {
    if (view.phase != fleet::PartitionPhase::kRemoving || view.changer != me) continue;
    const auto row = TRY(env.ledger.partitions().find(view.name.pool, view.name.name));
    const bool is_own = row && row->state == ledger::PartitionState::kReady && row->fleet.empty();
    if (is_own) TRY(fleet::take_back(fleet.at_last(), view.name, me));
  }
  return obstacles.empty() ? Status() : obstacles.front();
}

// Fails while a container of this host begins: it may get what is the fleet's.
Status check_beginners(Env& env) {
  const std::vector<ledger::Waiter> waiters = TRY(living_waiters(env));
  const auto begins = [](std::string_view container, const char* how) {
    return Error(Code::kBusy, str("container ", base::short_id(container), how,
                                  ", so this host has not left the fleet yet; run 'ipuctl fleet"
                                  " leave' again when it runs or has ended, or 'ipuctl fleet"
                                  " join' to stay"));
  };
  if (!waiters.empty()) return begins(waiters.front().container, " waits for IPUs");
  for (const ledger::Lease& one : TRY(env.ledger.live()))
    if (one.state == ledger::LeaseState::kIntent) return begins(one.container, " begins");
  return {};
}

}  // namespace

Result<LeftFleet> leave_fleet(Env& env, const Deadline& deadline) {
  LeftFleet left;
  const std::optional<OpenFleet> fleet = TRY(open_fleet(env));
  const std::vector<ledger::PartitionRecord> records = TRY(env.ledger.partitions().all());
  for (const ledger::PartitionRecord& record : records) {
    if (record.fleet.empty()) continue;
    if (is_fleets(record) && fleet) {
      return Error(Code::kBusy,
                   str("partition ", quote(record.name), " of pool ", quote(record.pool),
                       " is half made or half removed; run 'ipuctl gc' first"));
    }
    TRY(check_holders(env, record, fleet, deadline));
  }
  // No container begins with the fleet from here on.
  TRY(env.ledger.host().begin_leaving());
  TRY(check_beginners(env));
  for (const ledger::PartitionRecord& record : records) {
    if (record.fleet.empty()) continue;
    const bool is_used = !TRY(env.ledger.partitions().holders(record.pool, record.name)).empty();
    if (is_used && fleet)
      TRY(take_back(env, *fleet, record, deadline));
    else
      TRY(env.ledger.partitions().unlearn(record));
    (is_used ? left.kept : left.forgotten).push_back(record.name);
  }
  if (fleet) TRY(end_take_backs(env, *fleet));
  if (fleet) TRY(leave_grants(env, *fleet));
  TRY(env.ledger.partitions().disclaim_own());
  if (fleet) {
    TRY(fleet::end_beats(*fleet->store, fleet->config.prefix, env.ledger.host().tag(),
                         fleet->at_last().deadline));
  }
  TRY(env.ledger.host().leave_fleet());
  return left;
}

}  // namespace hook::lifecycle::partitions
