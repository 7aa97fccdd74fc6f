// SPDX-License-Identifier: Apache-2.0
// What the fleet's store and this host's containers say of each other, after a crash or an import.
#include <map>
#include <set>

#include "base/names.h"
#include "base/text.h"
#include "hook/fleet/claim_addresses.h"
#include "hook/fleet/restored.h"
#include "hook/lifecycle/partitions/fleet_claims.h"
#include "hook/lifecycle/partitions/fleet_grants.h"
#include "hook/lifecycle/partitions/fleet_records.h"
#include "hook/lifecycle/partitions/fleet_warm.h"
#include "hook/lifecycle/partitions/ownership.h"

namespace hook::lifecycle::partitions {

using namespace base::names;

namespace {

Result<bool> runs(const std::string& process) {
  const std::vector<std::string_view> parts = base::split(process, ' ');
  if (parts.size() != 4) return Error(Code::kInvalid, str(quote(process), " is no process"));
  base::ProcessId id;
  id.pid = TRY(base::parse_int<pid_t>(parts[0], 1, INT32_MAX));
  id.start_time = TRY(base::parse_int<uint64_t>(parts[1], 0, UINT64_MAX));
  id.pid_namespace = TRY(base::parse_int<uint64_t>(parts[2], 0, UINT64_MAX));
  return parts[3] == TRY(base::boot_id()) && base::is_running(id);
}

// Makes the partition of RECORD known again, with all that uses it here: the copy is older.
Status publish_again(Env& env, const OpenFleet& fleet, const ledger::PartitionRecord& record) {
  fleet::PartitionView view;
  view.name = name_of(record);
  view.facts = facts_of(env, record);
  view.dirty = true;
  for (const ledger::Lease& lease :
       TRY(env.ledger.partitions().holders(record.pool, record.name))) {
    const bool runs = lease.state == ledger::LeaseState::kRunning ||
                      lease.state == ledger::LeaseState::kAllocated;
    if (!runs || lease.claim.empty()) continue;
    view.claims.push_back(claim_of(env, lease));
    view.claims.back().uses = true;
  }
  return fleet::publish(fleet.at_last(), view);
}

// Claims again what a live lease has and the fleet does not know: etcd was restored from an older
// copy, or the claim was removed by a fence. The container runs, so nothing is reset.
Status claim_again(Env& env, const OpenFleet& fleet, const ledger::Lease& lease) {
  Status claimed = fleet::claim_running(fleet.at_last(), name_of(lease), claim_of(env, lease));
  if (claimed.ok() || claimed.error().code() != Code::kNotFound) return claimed;
  const auto row = TRY(env.ledger.partitions().find(lease.pool, lease.partition));
  const bool is_named = row && row->state == ledger::PartitionState::kReady &&
                        row->kind == ledger::PartitionKind::kNamed;
  return is_named ? publish_again(env, fleet, *row) : std::move(claimed);
}

// Whether CLAIM, of this host, is a running reset's.
bool is_reset(const fleet::Claim& claim) {
  const auto running = runs(claim.process);  // of a container's claim it is no process
  return running.ok() && running.value();
}

// Says that the removal of VIEW's partition does not go on by itself, if it is as VIEW has it
// still. Whether a request is on its way is for a person to judge.
Status check_removal(const OpenFleet& fleet, const fleet::PartitionView& view) {
  const auto now = TRY(fleet::find_partition(fleet.at_last(), view.name));
  if (!now || now->modified != view.modified) return {};
  const std::string& name = view.name.name;
  return Error(Code::kBusy, str("partition ", quote(name), " of pool ", quote(view.name.pool),
                                " is half removed: its removal, here or on a host that was"
                                " fenced, was cut short; run 'ipuctl partition remove ",
                                name, " --pool ", view.name.pool, "' on this host"));
}

// Tells the fleet what this host has made, if it could not be told then. After an import, which
// IS_ASKED says, it also ends removals of the copy: none can begin until all hosts have told.
Status finish_begun(Env& env, const OpenFleet& fleet, bool is_asked,
                    std::vector<Error>& obstacles) {
  const std::string& me = env.ledger.host().tag();
  for (const fleet::PartitionView& view : TRY(fleet::list_partitions(fleet.at_last(), obstacles))) {
    if (view.phase == fleet::PartitionPhase::kReady || view.changer != me) continue;
    const auto row = TRY(env.ledger.partitions().find(view.name.pool, view.name.name));
    const bool is_made =
        row && row->state == ledger::PartitionState::kReady && row->fleet == fleet.config.prefix;
    if (view.phase == fleet::PartitionPhase::kRemoving) {
      // What is being removed here has a row that says so, but for an adopted one. A fence passes
      // the removals of the dead host on.
      const bool is_running = row && (!is_made || view.facts.adopted);
      if (is_asked && (!row || is_made)) TRY(fleet::cancel_removal(fleet.at_last(), view.name, me));
      const Status checked = is_asked || is_running ? Status() : check_removal(fleet, view);
      if (!checked.ok()) obstacles.push_back(checked.error());
      continue;
    }
    if (!is_made) continue;
    if (view.phase == fleet::PartitionPhase::kMaking)
      TRY(fleet::finish_making(fleet.at_last(), view.name, me));
    // Looked at after the record: a host that leaves says so in its ledger first.
    else if (view.phase == fleet::PartitionPhase::kLeft &&
             env.ledger.host().check_in(fleet.config.prefix).ok())
      TRY(fleet::stay_with(fleet.at_last(), view.name, me));
  }
  return {};
}

// Returns whether LEASE has a named partition that this host has not shared.
Result<bool> is_unshared(Env& env, const ledger::Lease& lease) {
  const bool may_be = lease.claim.empty() && config::is_controller(lease.controller) &&
                      lease.origin != ledger::Origin::kOwn &&
                      lease.origin != ledger::Origin::kJoined;
  if (!may_be) return false;
  const auto row = TRY(env.ledger.partitions().find(lease.pool, lease.partition));
  return row && row->fleet.empty() && row->reservation.empty();
}

// Returns whether all that containers of this host have is claimed.
Result<bool> sweep(Env& env, const OpenFleet& fleet, bool is_asked, std::vector<Error>& obstacles) {
  // The claims first: a lease that begins meanwhile is live before its claim is made.
  const std::vector<fleet::PartitionClaim> claims =
      TRY(fleet::list_claims(fleet.at_last(), obstacles));
  const std::vector<ledger::Lease> leases = TRY(env.ledger.live());
  std::set<std::string> live;
  for (const ledger::Lease& lease : leases) {
    live.insert(lease.id);
    live.insert(lease.claim);
  }
  TRY(finish_begun(env, fleet, is_asked, obstacles));
  std::map<std::string, fleet::Claim> known;
  for (const fleet::PartitionClaim& one : claims) {
    if (one.claim.uses) known.emplace(one.claim.id, one.claim);
    const bool is_lost = one.claim.host == env.ledger.host().tag() &&
                         !live.contains(one.claim.id) && !is_reset(one.claim);
    if (!is_lost) continue;
    // Recorded first: a ledger that was replaced meanwhile knows nothing of newer leases.
    TRY(env.ledger.events().record(str("removes the lost claim ", one.claim.id, " of partition ",
                                       one.partition.name, " from the fleet")));
    TRY(fleet::unclaim(fleet.at_last(), one.partition, one.claim.id));
  }
  bool is_whole = true;
  // The controller may remove it at any moment. A removal that was cut short can only go on once
  // all hosts have told.
  const std::string boot = TRY(base::boot_id());
  for (const ledger::PartitionRecord& record : TRY(env.ledger.partitions().all()))
    if (record.state == ledger::PartitionState::kRemoving && record.fleet == fleet.config.prefix &&
        is_held(record, boot))
      is_whole = false;
  for (const ledger::Lease& lease : leases) {
    const bool runs = lease.state == ledger::LeaseState::kRunning ||
                      lease.state == ledger::LeaseState::kAllocated;
    const bool is_named = !lease.claim.empty() && lease.origin != ledger::Origin::kOwn;
    if (runs && TRY(is_unshared(env, lease))) {
      is_whole = false;  // share_named() says why, but on a host that leaves
      const Status in = env.ledger.host().check_in(fleet.config.prefix);
      if (!in.ok()) obstacles.push_back(in.error());
    }
    if (!runs || !is_named) continue;
    const auto claim = known.find(lease.claim);
    const bool is_known =
        claim != known.end() && fleet::has_addresses(claim->second, claim_of(env, lease));
    if (is_known) continue;
    Status again = claim_again(env, fleet, lease);
    if (again.ok()) continue;
    is_whole = false;
    obstacles.push_back(std::move(again).error().wrap(
        str("container ", base::short_id(lease.container), " runs without a claim")));
  }
  return is_whole;
}

Status sweep_all(Env& env, const OpenFleet& fleet, std::vector<Error>& obstacles) {
  // While the host leaves, it still gives back what it had.
  if (fleet.id.empty() && !env.ledger.host().check_in(fleet.config.prefix).ok()) return {};
  const std::string& me = env.ledger.host().tag();
  const int64_t asked = TRY(fleet::asked_to_tell(fleet.at_last(), me));
  const bool is_whole = TRY(sweep(env, fleet, asked != 0, obstacles));
  const bool is_granted = TRY(sweep_grants(env, fleet, obstacles));
  TRY(sweep_warm(env, fleet, obstacles));
  // A host that leaves grants nothing, and others wait until it tells.
  const Status in = env.ledger.host().check_in(fleet.config.prefix);
  if (asked != 0 && !is_granted && !in.ok()) obstacles.push_back(in.error());
  return is_whole && is_granted ? fleet::has_told(fleet.at_last(), me, asked) : Status();
}

}  // namespace

void sweep_claims(Env& env, std::vector<Error>& obstacles) {
  const Result<std::optional<OpenFleet>> fleet = open_fleet(env);
  if (!fleet.ok()) return obstacles.push_back(fleet.error());
  if (!fleet.value()) return;
  Status swept = sweep_all(env, *fleet.value(), obstacles);
  if (!swept.ok()) obstacles.push_back(std::move(swept).error());
}

}  // namespace hook::lifecycle::partitions
