// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/partitions/fleet_grants.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/names.h"
#include "base/text.h"
#include "hook/lifecycle/fleet_place.h"
#include "hook/lifecycle/partitions/fleet_warm.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "vipu/made_name.h"

namespace hook::lifecycle::partitions {

using namespace base::names;

namespace {

bool has_own_ipus(const ledger::Lease& lease) { return lease.origin == ledger::Origin::kOwn; }

// What this host has of the pools that the fleet's hosts share, by ids of grants.
struct Held {
  std::set<std::string> ids;         // also of what is being made, or released
  std::vector<fleet::Grant> in_use;  // what must be in the books
};

bool is_used(const ledger::Lease& lease) {
  return lease.state == ledger::LeaseState::kAllocated ||
         lease.state == ledger::LeaseState::kRunning;
}

// A lease from before the fleet has no claim yet.
Result<Held> held_by(Env& env, const OpenFleet& fleet) {
  Held held;
  const bool leaves = !env.ledger.host().check_in(fleet.config.prefix).ok();
  for (ledger::Lease& lease : TRY(env.ledger.live())) {
    held.ids.insert(lease.id);
    held.ids.insert(lease.claim);
    const bool is_shared = config::is_controller(lease.controller);
    if (!has_own_ipus(lease) || !is_used(lease) || !is_shared) continue;
    if (lease.claim.empty() && leaves) continue;
    if (lease.claim.empty()) {
      TRY(env.ledger.partitions().claim_own(lease, fleet.config.prefix));
      lease.claim = lease.id;
    }
    held.in_use.push_back(grant_of(env, lease));
    held.in_use.back().since_ms = lease.created_ms;
  }
  for (const ledger::PartitionRecord& record : TRY(env.ledger.partitions().all())) {
    held.ids.insert(record.name);
    const bool is_made = record.state == ledger::PartitionState::kReady;
    if (record.reservation.empty() || !is_made || !config::is_controller(record.source)) continue;
    fleet::Grant grant;
    grant.pool = record.pool;
    grant.id = record.name;
    grant.host = env.ledger.host().tag();
    grant.reservation = record.reservation;
    grant.tenant = record.tenant;
    grant.ipus = record.ipus;
    grant.since_ms = record.created_ms;
    held.in_use.push_back(std::move(grant));
  }
  return held;
}

// Returns whether the controller does not have the partition of GRANT any more.
Result<bool> is_removed(const Env& env, const fleet::Grant& grant) {
  if (grant.source.empty()) return false;  // of an earlier release
  const auto controller = recorded_controller(env, grant.pool, grant.source);
  const std::vector<vipu::Partition> all = TRY(controller->list(Deadline::after(kLongestAttempt)));
  return std::none_of(all.begin(), all.end(),
                      [&](const vipu::Partition& one) { return one.id == grant.partition; });
}

// Removes the partition that a lost GRANT names, unless another container has it by now. Returns
// whether the grant may go.
Result<bool> remove_lost(Env& env, const OpenFleet& fleet, const fleet::Grant& grant) {
  if (grant.partition.empty()) return true;
  const std::optional<ledger::Lease> lease = TRY(env.ledger.find(grant.id));
  if (!lease) {
    // Without a disk, it is of an earlier boot: remove_of_earlier_boots().
    if (TRY(env.ledger.host().is_of_this_boot())) return false;
    if (TRY(is_removed(env, grant))) return true;
    return Error(Code::kBusy,
                 str("partition ", quote(grant.partition), " of pool ", quote(grant.pool),
                     " is that of container ", base::short_id(grant.container),
                     " of this host, which the ledger does not know; when the container has"
                     " ended, run Graphcore's 'vipu-admin remove partition ",
                     grant.partition, "'"));
  }
  const auto deadline = Deadline::after(kLongestAttempt);
  const Removable removable =
      TRY(begin_end_of_taken(env, fleet, grant.pool, grant.partition, grant.id, deadline));
  if (removable == Removable::kNo) return true;
  const auto controller = recorded_controller(env, lease->pool, lease->controller);
  TRY(controller->remove(grant.partition, vipu::Force::kYes, deadline));
  return true;
}

// Returns the grant of another container for the partition of GRANT; null if there is none.
const fleet::Grant* find_other(const std::vector<fleet::Grant>& grants, const fleet::Grant& grant) {
  const auto is_other = [&](const fleet::Grant& one) {
    return one.id != grant.id && one.pool == grant.pool && one.partition == grant.partition;
  };
  const auto at = std::find_if(grants.begin(), grants.end(), is_other);
  return at == grants.end() || grant.partition.empty() ? nullptr : &*at;
}

// Returns whether the books have GRANT, with the partition that it names.
bool is_known(const std::vector<fleet::Grant>& grants, const fleet::Grant& grant) {
  return std::any_of(grants.begin(), grants.end(), [&](const fleet::Grant& one) {
    const bool is_same = one.id == grant.id && one.pool == grant.pool && one.host == grant.host;
    return is_same && (grant.partition.empty() || one.partition == grant.partition);
  });
}

Error taken_twice(const fleet::Grant& grant, const fleet::Grant& other) {
  return Error(
      Code::kInternal,
      str("partition ", quote(grant.partition), " of pool ", quote(grant.pool),
          " is that of container ", base::short_id(grant.container),
          " of this host, and since etcd went back also that of container ",
          base::short_id(other.container), " of host ", other.host, "; stop one of the two"));
}

}  // namespace

Result<netns::Presence> find_lease_grant(const OpenFleet& fleet, const ledger::Lease& lease,
                                         const Deadline& deadline) {
  const auto grant = TRY(fleet::find_grant(fleet.at(deadline), lease.pool, lease.claim));
  return grant ? netns::Presence::kThere : netns::Presence::kGone;
}

Status remove_lease_grant(Env& env, const OpenFleet& fleet, const ledger::Lease& lease,
                          const Deadline& deadline) {
  auto found = fleet::find_grant(fleet.at(deadline), lease.pool, lease.claim);
  // It cannot be read, and the lease says what it had.
  if (!found.ok() && found.error().code() == Code::kInvalid) {
    TRY(fleet::grant_again(fleet.at(deadline), grant_of(env, lease)));
    found = fleet::find_grant(fleet.at(deadline), lease.pool, lease.claim);
  }
  const auto grant = TRY(std::move(found));
  const std::string unknown = grant && grant->partition != lease.partition ? grant->partition : "";
  if (!unknown.empty()) {
    const Removable removable =
        TRY(begin_end_of_taken(env, fleet, lease.pool, unknown, lease.claim, deadline));
    const auto controller = recorded_controller(env, lease.pool, lease.controller);
    if (removable == Removable::kYes) TRY(controller->remove(unknown, vipu::Force::kYes, deadline));
  }
  if (grant) TRY(fleet::ungrant(fleet.at(deadline), lease.pool, lease.claim));
  return {};
}

void remove_reservation_grant(const Env& env, const ledger::PartitionRecord& record) {
  if (record.reservation.empty() || !config::is_controller(record.source)) return;
  const Result<std::optional<OpenFleet>> fleet = open_fleet(env);
  if (fleet.ok() && fleet.value())
    (void)fleet::ungrant(fleet.value()->at_last(), record.pool, record.name);
}

Result<bool> sweep_grants(Env& env, const OpenFleet& fleet, std::vector<Error>& obstacles) {
  const std::vector<fleet::Waiting> waiting = TRY(fleet::list_queue(fleet.at_last()));
  TRY(sweep_tickets(env, fleet, waiting));
  // The books first: what begins meanwhile is in the ledger before its grant is made.
  const std::vector<fleet::Grant> grants = TRY(fleet::list_grants(fleet.at_last(), obstacles));
  const Held held = TRY(held_by(env, fleet));
  for (const fleet::Grant& grant : grants) {
    if (grant.host != env.ledger.host().tag() || held.ids.contains(grant.id)) continue;
    const Result<bool> gone = remove_lost(env, fleet, grant);
    if (!gone.ok()) obstacles.push_back(gone.error());
    if (!gone.ok() || !gone.value()) continue;
    // Recorded first: a ledger that was replaced meanwhile knows nothing of newer leases.
    TRY(env.ledger.events().record(
        str("removes the lost grant ", grant.id, " of pool ", grant.pool, " from the fleet")));
    TRY(fleet::ungrant(fleet.at_last(), grant.pool, grant.id));
  }
  bool is_whole = true;
  for (const fleet::Grant& grant : held.in_use) {
    const fleet::Grant* const other = find_other(grants, grant);
    if (other != nullptr) obstacles.push_back(taken_twice(grant, *other));
    if (is_known(grants, grant)) continue;
    Status again = env.ledger.host().check_in(fleet.config.prefix);
    if (!again.ok()) return false;
    again = fleet::grant_again(fleet.at_last(), grant);
    if (again.ok()) continue;
    is_whole = false;
    obstacles.push_back(std::move(again).error());
  }
  return is_whole;
}

Status leave_grants(Env& env, const OpenFleet& fleet) {
  std::vector<Error> obstacles;
  (void)TRY(sweep_grants(env, fleet, obstacles));
  TRY(sweep_warm(env, fleet, obstacles));
  if (!obstacles.empty()) return obstacles.front();
  for (const fleet::Grant& grant : TRY(fleet::list_grants(fleet.at_last(), obstacles))) {
    const bool is_own = grant.host == env.ledger.host().tag() && !grant.partition.empty();
    // Nobody else would know whose partition it is.
    if (!is_own || TRY(env.ledger.partitions().knows(grant.partition))) continue;
    return Error(Code::kBusy,
                 str("partition ", quote(grant.partition), " of pool ", quote(grant.pool),
                     " is half taken or half removed; run 'ipuctl gc' first"));
  }
  return end_grants(env, fleet);
}

Status end_grants(Env& env, const OpenFleet& fleet) {
  std::vector<Error> obstacles;  // 'fleet check' says what cannot be read
  for (const fleet::Grant& grant : TRY(fleet::list_grants(fleet.at_last(), obstacles))) {
    if (grant.host == env.ledger.host().tag())
      TRY(fleet::ungrant(fleet.at_last(), grant.pool, grant.id));
  }
  return {};
}

}  // namespace hook::lifecycle::partitions
