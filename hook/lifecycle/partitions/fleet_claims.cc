// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/partitions/fleet_claims.h"

#include <algorithm>
#include <functional>
#include <set>

#include "base/names.h"
#include "base/text.h"
#include "hook/fleet/claim_addresses.h"
#include "hook/fleet/hosts.h"
#include "hook/lifecycle/fleet_pin.h"
#include "hook/lifecycle/fleet_share.h"
#include "hook/lifecycle/partitions/fleet_grants.h"
#include "hook/lifecycle/partitions/fleet_records.h"
#include "hook/lifecycle/partitions/fleet_warm.h"
#include "vipu/made_name.h"

namespace hook::lifecycle::partitions {

using namespace base::names;

namespace {

// A wait for changes ends so often, to see whether anybody wants its result.
constexpr std::chrono::milliseconds kWatchTime{2'000};

ledger::PartitionRecord record_of(const config::PoolConfig& pool, const fleet::PartitionView& view,
                                  const std::string& prefix) {
  ledger::PartitionRecord record;
  record.pool = view.name.pool;
  record.name = view.name.name;
  record.source = config::source_of(pool);  // as this host reaches the controller
  record.kind =
      view.facts.adopted ? ledger::PartitionKind::kForeign : ledger::PartitionKind::kNamed;
  record.state = ledger::PartitionState::kReady;
  record.ipus = view.facts.ipus;
  record.gcds = view.facts.gcds;
  record.shared = view.facts.shared;
  record.reconfigurable = view.facts.reconfigurable;
  record.created_ms = base::unix_millis();
  record.fleet = prefix;
  return record;
}

std::set<std::string> ids_of(const Env& env, const std::vector<fleet::Claim>& claims) {
  std::set<std::string> ids;
  for (const fleet::Claim& one : claims)
    if (one.host == env.ledger.host().tag()) ids.insert(one.id);
  return ids;
}

// Makes RECORD, which this host had before it was in the fleet, known to it, with its containers.
Status share_partition(Env& env, const OpenFleet& fleet, const ledger::PartitionRecord& record,
                       const Deadline& deadline) {
  fleet::PartitionView view;
  view.name = name_of(record);
  view.facts = facts_of(env, record);
  view.dirty = record.dirty;
  for (ledger::Lease& lease : TRY(env.ledger.partitions().holders(record.pool, record.name))) {
    if (lease.origin == ledger::Origin::kJoined) continue;
    // Its process does not know of the fleet, and goes by what this host knows.
    if (lease.state == ledger::LeaseState::kIntent) return ledger::in_use(record.name, {lease});
    lease.claim = lease.id;
    view.claims.push_back(claim_of(env, lease));
    view.claims.back().uses = true;
    view.dirty = true;
  }
  const auto known = TRY(fleet::find_partition(fleet.at(deadline), view.name));
  if (known && known->phase == fleet::PartitionPhase::kReady &&
      known->facts.maker == view.facts.maker) {
    // An older copy of the store, from before this host left with the partition.
    for (const fleet::Claim& one : view.claims)
      TRY(fleet::claim_running(fleet.at(deadline), view.name, one));
    return env.ledger.partitions().share(record, fleet.config.prefix, ids_of(env, view.claims));
  }
  // A start that does not know of the fleet may begin until the ledger says that it is shared.
  view.phase = fleet::PartitionPhase::kMaking;
  view.changer = view.facts.maker;
  TRY(fleet::publish(fleet.at(deadline), view));
  TRY(env.ledger.partitions().share(record, fleet.config.prefix, ids_of(env, view.claims)));
  return fleet::finish_making(fleet.at(deadline), view.name, view.changer);
}

// The fleet has no partition of RECORD, which it had before.
Status forget_partition(Env& env, const config::PoolConfig& pool,
                        const ledger::PartitionRecord& record, const Deadline& deadline) {
  for (const vipu::Partition& one : TRY(env.controller(pool)->list(deadline))) {
    if (one.id != record.name || record.kind == ledger::PartitionKind::kForeign) continue;
    return Error(
        Code::kNotFound,
        str("the fleet has no partition ", quote(record.name), " of pool ", quote(record.pool),
            " any more, but the controller has one; if etcd was"
            " restored from an older copy, end its containers on all hosts, then run"
            " 'ipuctl partition remove ",
            record.name, "' and create it again"));
  }
  return env.ledger.partitions().unlearn(record);
}

// Returns whether LEASE alone has all GCDs of its partition. Then no container of another GCD can
// have kept an address of it.
Result<bool> has_whole(Env& env, const ledger::Lease& lease) {
  if (lease.origin == ledger::Origin::kShared) return false;
  const auto record = TRY(env.ledger.partitions().find(lease.pool, lease.partition));
  return record && record->gcds == lease.gcds;
}

// Returns whether a claim of LEASE's partition is as IS_IT wants.
Result<bool> any_claim(Env& env, const ledger::Lease& lease,
                       const std::function<bool(const fleet::Claim&)>& is_it,
                       const Deadline& deadline) {
  const OpenFleet fleet = TRY(open_fleet(env, lease.fleet));
  const auto view = TRY(fleet::find_partition(fleet.at(deadline), name_of(lease)));
  return view && std::any_of(view->claims.begin(), view->claims.end(), is_it);
}

// Returns the claim of a container that has the interfaces of LEASE, too; empty if there is none.
Result<std::string> find_heir(Env& env, const ledger::Lease& lease) {
  for (const ledger::Lease& sharer : TRY(env.ledger.sharers(lease))) {
    const bool is_alike = sharer.pool == lease.pool && sharer.partition == lease.partition &&
                          sharer.fleet == lease.fleet;
    if (is_alike && !sharer.claim.empty()) return sharer.claim;
  }
  return std::string();
}

}  // namespace

Status check_member(const Env& env) {
  const std::vector<ledger::PartitionRecord> records = TRY(env.ledger.partitions().all());
  for (const ledger::PartitionRecord& record : records)
    if (!record.fleet.empty()) TRY(open_fleet(env, record.fleet));
  return {};
}

Status learn_partition(Env& env, const config::PoolConfig& pool, const std::string& name,
                       const Deadline& deadline) {
  if (pool.provider != config::Provider::kVipu || ledger::is_reserved_name(name)) return {};
  const std::optional<OpenFleet> fleet = TRY(open_fleet(env));
  if (!fleet) return {};
  const auto row = TRY(env.ledger.partitions().find(pool.name, name));
  if (row && (row->state != ledger::PartitionState::kReady || !row->reservation.empty())) return {};
  if (row && !row->fleet.empty()) TRY(open_fleet(env, row->fleet));  // it has this prefix
  // A store of a newer release, or of something else, is left alone.
  const fleet::Fleet at = fleet->at(deadline);
  TRY(join_known_fleet(env.ledger, at.store, at.prefix, at.deadline));
  const std::string& me = env.ledger.host().tag();
  const std::optional<fleet::PartitionView> view =
      TRY(fleet::find_partition(fleet->at(deadline), {pool.name, name}));
  if (!view) {
    if (!row) return {};
    return row->fleet.empty() ? share_partition(env, *fleet, *row, deadline)
                              : forget_partition(env, pool, *row, deadline);
  }
  const bool is_mine = view->facts.maker == me;
  if (row && row->fleet.empty()) {
    // It was cut short. Other containers may have begun since.
    if (is_mine) return share_partition(env, *fleet, *row, deadline);
    return Error(Code::kExists,
                 str("partition ", quote(name), " of pool ", quote(pool.name),
                     " is known here, and"
                     " to the fleet as another one, made on host ",
                     view->facts.maker, "; run 'ipuctl partition remove ", name,
                     "' on the host that adopted it, or remove one and choose another name"));
  }
  if (row && is_mine && view->phase == fleet::PartitionPhase::kMaking)
    return fleet::finish_making(fleet->at(deadline), view->name, me);
  // This host's own command says of it what it does; see learn_begun().
  if (!row && view->changer != me) TRY(fleet::check_ready(*view));
  if (view->phase != fleet::PartitionPhase::kReady) return {};
  return env.ledger.partitions().learn(record_of(pool, *view, fleet->config.prefix));
}

Status learn_begun(Env& env, const config::PoolConfig& pool, const std::string& name,
                   const Deadline& deadline) {
  TRY(learn_partition(env, pool, name, deadline));
  const std::optional<OpenFleet> fleet = TRY(open_fleet(env));
  if (!fleet || TRY(env.ledger.partitions().find(pool.name, name))) return {};
  const auto view = TRY(fleet::find_partition(fleet->at(deadline), {pool.name, name}));
  if (!view || view->changer != env.ledger.host().tag()) return {};
  return env.ledger.partitions().learn(record_of(pool, *view, fleet->config.prefix));
}

Status forget_in_fleet(Env& env, const ledger::PartitionRecord& record, const Deadline& deadline) {
  if (record.fleet.empty()) return {};
  const OpenFleet fleet = TRY(open_fleet(env, record.fleet));
  const std::string& me = env.ledger.host().tag();
  TRY(fleet::forget_making(fleet.at(deadline), name_of(record), me));
  return fleet::finish_removal(fleet.at(deadline), name_of(record), me);
}

Status begin_shared_removal(const Env& env, const OpenFleet& fleet,
                            const ledger::PartitionRecord& record, fleet::Takes takes,
                            const Deadline& deadline) {
  const std::string& me = env.ledger.host().tag();
  const Status begun = fleet::begin_removal(fleet.at(deadline), name_of(record), me, takes);
  if (begun.ok() || begun.error().code() != Code::kNotFound) return begun;
  // Nobody makes one of this name while it is removed.
  fleet::PartitionView view;
  view.name = name_of(record);
  view.facts = facts_of(env, record);
  view.phase = fleet::PartitionPhase::kRemoving;
  view.changer = me;
  return fleet::publish(fleet.at(deadline), view);
}

Status check_one_name(const OpenFleet& fleet, const ledger::PartitionRecord& record,
                      const Deadline& deadline) {
  std::vector<Error> obstacles;
  for (const fleet::PartitionView& view :
       TRY(fleet::list_partitions(fleet.at(deadline), obstacles))) {
    const bool is_same = view.name.name == record.name && view.name.pool != record.pool &&
                         view.facts.source == record.source;
    if (!is_same) continue;
    return Error(Code::kExists, str("the fleet has partition ", quote(record.name),
                                    " of this controller already, in pool ", quote(view.name.pool),
                                    "; call the pool so on this host, too"));
  }
  return obstacles.empty() ? Status() : obstacles.front();
}

Result<fleet::ClaimDuty> claim_gcds(
    Env& env, const ledger::Lease& lease,
    const std::function<Status(const std::vector<config::TenantConfig>&)>& may_have,
    const Deadline& deadline) {
  const OpenFleet fleet = TRY(open_fleet(env, lease.fleet));
  fleet::Claim claim = claim_of(env, lease);
  claim.since_ms = base::unix_millis();
  return fleet::claim(fleet.at(deadline), name_of(lease), claim,
                      [&](const fleet::Shares& shares) -> Status {
                        TRY(check_share(shares, name_of(lease), claim));
                        TRY(check_walls(shares, lease.tenant));
                        return may_have(shares.tenants);
                      });
}

Status claim_addresses(Env& env, const ledger::Lease& lease,
                       std::vector<ledger::RailRequest>& rails, const Deadline& deadline) {
  if (lease.claim.empty() || lease.origin == ledger::Origin::kOwn) return {};
  std::vector<std::string> wanted;
  for (const ledger::RailRequest& rail : rails)
    if (rail.by_ipu) wanted.push_back(netns::to_string(*rail.by_ipu));
  if (wanted.empty() || TRY(has_whole(env, lease))) return {};
  const OpenFleet fleet = TRY(open_fleet(env, lease.fleet));
  const std::vector<fleet::HeldAddress> held =
      TRY(fleet::claim_addresses(fleet.at(deadline), name_of(lease), lease.claim, wanted));
  for (ledger::RailRequest& rail : rails) {
    const auto at = std::find_if(held.begin(), held.end(), [&](const fleet::HeldAddress& one) {
      return rail.by_ipu && one.address == netns::to_string(*rail.by_ipu);
    });
    rail.by_ipu_holder = at == held.end() ? "" : fleet::holder_text(at->holder);
  }
  return {};
}

Status finish_claimed_reset(Env& env, const ledger::Lease& lease, const Deadline& deadline) {
  const OpenFleet fleet = TRY(open_fleet(env, lease.fleet));
  return fleet::finish_reset(fleet.at(deadline), name_of(lease), lease.claim);
}

Status wait_for_claims(Env& env, const ledger::Lease& lease, const Deadline& deadline) {
  const OpenFleet fleet = TRY(open_fleet(env, lease.fleet));
  return fleet::wait_for_change(fleet.at(deadline.capped(kWatchTime)), name_of(lease));
}

Result<netns::Presence> find_claim(Env& env, const ledger::Lease& lease, const Deadline& deadline) {
  if (lease.origin == ledger::Origin::kOwn)
    return find_lease_grant(TRY(open_fleet(env, lease.fleet)), lease, deadline);
  const auto has = [&](const fleet::Claim& one) { return one.id == lease.claim; };
  const bool is_there = TRY(any_claim(env, lease, has, deadline));
  return is_there ? netns::Presence::kThere : netns::Presence::kGone;
}

Status confirm_claim(Env& env, const ledger::Lease& lease, const Deadline& deadline) {
  const bool is_own = lease.origin == ledger::Origin::kOwn;
  // No other host can get a partition that was made for this container.
  if (lease.claim.empty() || (is_own && !vipu::is_of_fleet(lease.partition))) return {};
  bool is_there = false;
  if (is_own) {
    const OpenFleet fleet = TRY(open_fleet(env, lease.fleet));
    const auto grant = TRY(fleet::find_grant(fleet.at(deadline), lease.pool, lease.claim));
    is_there = grant && grant->partition == lease.partition;
  } else {
    fleet::Claim wanted = claim_of(env, lease);
    // The address of another container's interfaces is claimed for that one.
    if (lease.attachment != lease.id) wanted.addresses.reset();
    const auto is_it = [&](const fleet::Claim& one) {
      return one.id == lease.claim && one.uses && fleet::has_addresses(one, wanted);
    };
    is_there = TRY(any_claim(env, lease, is_it, deadline));
  }
  if (is_there) return {};
  const OpenFleet fleet = TRY(open_fleet(env, lease.fleet));
  const fleet::Fleet at = fleet.at(deadline);
  TRY(fleet::check_fence(at.store, at.prefix, env.ledger.host().tag(), at.deadline));
  return Error(Code::kBusy, str("the claim of partition ", quote(lease.partition),
                                " was taken away while the container started; start it again"));
}

Status unclaim_gcds(Env& env, const ledger::Lease& lease, const Deadline& deadline) {
  const OpenFleet fleet = TRY(open_fleet(env, lease.fleet));
  if (lease.origin == ledger::Origin::kOwn) return remove_lease_grant(env, fleet, lease, deadline);
  const std::vector<std::string> addresses = addresses_by_ipu(lease);
  const std::string heir = addresses.empty() ? "" : TRY(find_heir(env, lease));
  if (heir.empty()) return fleet::unclaim(fleet.at(deadline), name_of(lease), lease.claim);
  return fleet::pass_addresses(fleet.at(deadline), name_of(lease), lease.claim, heir, addresses);
}

Status begin_making(const Env& env, const OpenFleet& fleet, const ledger::PartitionRecord& record,
                    const Deadline& deadline) {
  fleet::PartitionView view;
  view.name = name_of(record);
  view.facts = facts_of(env, record);
  view.phase = fleet::PartitionPhase::kMaking;
  view.changer = view.facts.maker;
  return fleet::publish(fleet.at(deadline), view);
}

Status check_claims(const Env& env, const OpenFleet& fleet, const ledger::PartitionRecord& record,
                    fleet::Takes takes, const Deadline& deadline) {
  const auto view = TRY(fleet::find_partition(fleet.at(deadline), name_of(record)));
  if (!view) return {};
  std::vector<fleet::Claim> others = view->claims;
  std::erase_if(others, [&](const fleet::Claim& one) {
    return takes == fleet::Takes::kOwn && one.host == env.ledger.host().tag();
  });
  return others.empty() ? Status() : fleet::claimed(view->name, others);
}

Status reset_alone(const Env& env, const OpenFleet& fleet, const ledger::PartitionRecord& record,
                   const Deadline& deadline, const std::function<Status()>& reset) {
  fleet::Claim claim;
  claim.id = str("reset-", TRY(base::random_hex(8)));
  claim.host = env.ledger.host().tag();
  const std::string boot = TRY(base::boot_id());
  claim.process = process_text(TRY(base::current_process()), boot);
  const fleet::PartitionName name = name_of(record);
  const Status begun = fleet::begin_reset(fleet.at(deadline), name, claim);
  if (!begun.ok()) {
    // It may have been made nevertheless.
    (void)fleet::unclaim(fleet.at_last(), name, claim.id);
    return begun;
  }
  const Status done = reset();
  // The reset may have used all of the time.
  const Status ended = fleet::end_reset(fleet.at_last(), name, claim.id,
                                        done.ok() ? fleet::ResetDone::kYes : fleet::ResetDone::kNo);
  return done.ok() ? ended : done;
}

}  // namespace hook::lifecycle::partitions
