// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/partitions/fleet_claims.h"

#include <algorithm>
#include <set>

#include "base/names.h"
#include "base/text.h"
#include "hook/fleet/restored.h"
#include "hook/lifecycle/fleet_pin.h"
#include "hook/lifecycle/fleet_share.h"
#include "hook/lifecycle/partitions/fleet_grants.h"
#include "hook/lifecycle/partitions/fleet_warm.h"

namespace hook::lifecycle::partitions {

using namespace base::names;

namespace {

// A wait for changes ends so often, to see whether anybody wants its result.
constexpr std::chrono::milliseconds kWatchTime{2'000};

fleet::PartitionName name_of(const ledger::PartitionRecord& record) {
  return {record.pool, record.name};
}

fleet::PartitionName name_of(const ledger::Lease& lease) { return {lease.pool, lease.partition}; }

fleet::PartitionFacts facts_of(const Env& env, const ledger::PartitionRecord& record) {
  fleet::PartitionFacts facts;
  facts.maker = env.ledger.host().tag();
  facts.source = record.source;
  facts.ipus = record.ipus;
  facts.gcds = record.gcds;
  facts.shared = record.shared;
  facts.reconfigurable = record.reconfigurable;
  facts.adopted = record.kind == ledger::PartitionKind::kForeign;
  return facts;
}

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

fleet::Claim claim_of(const Env& env, const ledger::Lease& lease) {
  fleet::Claim claim;
  claim.id = lease.claim;
  claim.host = env.ledger.host().tag();
  claim.container = lease.container;
  claim.gcd = lease.gcd;
  claim.gcds = lease.gcds;
  claim.tenant = lease.tenant;
  claim.since_ms = lease.created_ms;
  return claim;
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
  TRY(fleet::publish(fleet.at(deadline), view));
  return env.ledger.partitions().share(record, fleet.config.prefix, ids_of(env, view.claims));
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

// As the claim of a reset names it.
std::string process_text(const base::ProcessId& process, const std::string& boot) {
  return str(process.pid, ' ', process.start_time, ' ', process.pid_namespace, ' ', boot);
}

Result<bool> runs(const std::string& process) {
  const std::vector<std::string_view> parts = base::split(process, ' ');
  if (parts.size() != 4) return Error(Code::kInvalid, str(quote(process), " is no process"));
  base::ProcessId id;
  id.pid = TRY(base::parse_int<pid_t>(parts[0], 1, INT32_MAX));
  id.start_time = TRY(base::parse_int<uint64_t>(parts[1], 0, UINT64_MAX));
  id.pid_namespace = TRY(base::parse_int<uint64_t>(parts[2], 0, UINT64_MAX));
  return parts[3] == TRY(base::boot_id()) && base::is_running(id);
}

// Claims again what a live lease has and the fleet does not know: etcd was restored from an older
// copy, or the claim was removed by a fence. The container runs, so nothing is reset.
Status claim_again(Env& env, const OpenFleet& fleet, const ledger::Lease& lease) {
  const fleet::Fleet at = fleet.at_last();
  const fleet::ClaimDuty duty = TRY(fleet::claim(at, name_of(lease), claim_of(env, lease), {}));
  if (duty == fleet::ClaimDuty::kReset) TRY(fleet::finish_reset(at, name_of(lease), lease.claim));
  return {};
}

// Whether CLAIM, of this host, is a running reset's.
bool is_reset(const fleet::Claim& claim) {
  const auto running = runs(claim.process);  // of a container's claim it is no process
  return running.ok() && running.value();
}

// Tells the fleet what this host has made, if it could not be told then.
Status finish_begun(Env& env, const OpenFleet& fleet, std::vector<Error>& obstacles) {
  const std::string& me = env.ledger.host().tag();
  for (const fleet::PartitionView& view : TRY(fleet::list_partitions(fleet.at_last(), obstacles))) {
    if (view.phase != fleet::PartitionPhase::kMaking || view.changer != me) continue;
    const auto row = TRY(env.ledger.partitions().find(view.name.pool, view.name.name));
    const bool is_made = row && row->state == ledger::PartitionState::kReady;
    if (is_made) TRY(fleet::finish_making(fleet.at_last(), view.name, me));
  }
  return {};
}

// Returns whether all that containers of this host have is claimed.
Result<bool> sweep(Env& env, const OpenFleet& fleet, std::vector<Error>& obstacles) {
  // The claims first: a lease that begins meanwhile is live before its claim is made.
  const std::vector<fleet::PartitionClaim> claims =
      TRY(fleet::list_claims(fleet.at_last(), obstacles));
  const std::vector<ledger::Lease> leases = TRY(env.ledger.live());
  std::set<std::string> live;
  for (const ledger::Lease& lease : leases) {
    live.insert(lease.id);
    live.insert(lease.claim);
  }
  TRY(finish_begun(env, fleet, obstacles));
  std::set<std::string> known;
  for (const fleet::PartitionClaim& one : claims) {
    known.insert(one.claim.id);
    const bool is_lost = one.claim.host == env.ledger.host().tag() &&
                         !live.contains(one.claim.id) && !is_reset(one.claim);
    if (!is_lost) continue;
    // Recorded first: a ledger that was replaced meanwhile knows nothing of newer leases.
    TRY(env.ledger.events().record(str("removes the lost claim ", one.claim.id, " of partition ",
                                       one.partition.name, " from the fleet")));
    TRY(fleet::unclaim(fleet.at_last(), one.partition, one.claim.id));
  }
  bool is_whole = true;
  for (const ledger::Lease& lease : leases) {
    const bool runs = lease.state == ledger::LeaseState::kRunning ||
                      lease.state == ledger::LeaseState::kAllocated;
    const bool is_named = !lease.claim.empty() && lease.origin != ledger::Origin::kOwn;
    if (!runs || !is_named || known.contains(lease.claim)) continue;
    Status again = claim_again(env, fleet, lease);
    if (again.ok()) continue;
    is_whole = false;
    obstacles.push_back(std::move(again).error().wrap(
        str("container ", base::short_id(lease.container), " runs without a claim")));
  }
  return is_whole;
}

Status sweep_all(Env& env, const OpenFleet& fleet, std::vector<Error>& obstacles) {
  const std::string& me = env.ledger.host().tag();
  const int64_t asked = TRY(fleet::asked_to_tell(fleet.at_last(), me));
  const bool is_whole = TRY(sweep(env, fleet, obstacles));
  TRY(sweep_grants(env, fleet, obstacles));
  TRY(sweep_warm(env, fleet, obstacles));
  return is_whole ? fleet::has_told(fleet.at_last(), me, asked) : Status();
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
    // The answer to share_partition() was lost.
    if (is_mine) {
      return env.ledger.partitions().share(*row, fleet->config.prefix, ids_of(env, view->claims));
    }
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

Status finish_claimed_reset(Env& env, const ledger::Lease& lease, const Deadline& deadline) {
  const OpenFleet fleet = TRY(open_fleet(env, lease.fleet));
  return fleet::finish_reset(fleet.at(deadline), name_of(lease), lease.claim);
}

Status wait_for_claims(Env& env, const ledger::Lease& lease, const Deadline& deadline) {
  const OpenFleet fleet = TRY(open_fleet(env, lease.fleet));
  return fleet::wait_for_change(fleet.at(deadline.capped(kWatchTime)), name_of(lease));
}

Result<netns::Presence> find_claim(Env& env, const ledger::Lease& lease, const Deadline& deadline) {
  const OpenFleet fleet = TRY(open_fleet(env, lease.fleet));
  if (lease.origin == ledger::Origin::kOwn) return find_lease_grant(fleet, lease, deadline);
  const auto view = TRY(fleet::find_partition(fleet.at(deadline), name_of(lease)));
  const auto has = [&](const fleet::Claim& one) { return one.id == lease.claim; };
  const bool is_there = view && std::any_of(view->claims.begin(), view->claims.end(), has);
  return is_there ? netns::Presence::kThere : netns::Presence::kGone;
}

Status unclaim_gcds(Env& env, const ledger::Lease& lease, const Deadline& deadline) {
  const OpenFleet fleet = TRY(open_fleet(env, lease.fleet));
  if (lease.origin == ledger::Origin::kOwn) return remove_lease_grant(env, fleet, lease, deadline);
  return fleet::unclaim(fleet.at(deadline), name_of(lease), lease.claim);
}

void sweep_claims(Env& env, std::vector<Error>& obstacles) {
  const Result<std::optional<OpenFleet>> fleet = open_fleet(env);
  if (!fleet.ok()) return obstacles.push_back(fleet.error());
  if (!fleet.value()) return;
  Status swept = sweep_all(env, *fleet.value(), obstacles);
  if (!swept.ok()) obstacles.push_back(std::move(swept).error());
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
