// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/hook/model/fences_actors.h"

#include <algorithm>
#include <memory>

#include "base/names.h"
#include "hook/fleet/grants.h"
#include "hook/fleet/hosts.h"
#include "hook/fleet/queue.h"
#include "hook/lifecycle/end/effects.h"
#include "hook/lifecycle/partitions/hosts.h"
#include "tests/unit/hook/model/fences_desk.h"

namespace model::fences {
namespace {

using namespace base::names;
using hook::fleet::Claim;
using hook::fleet::ClaimDuty;
using hook::fleet::Grant;
using hook::fleet::PartitionName;
using hook::fleet::Resource;
using hook::fleet::Ticket;
using What = Call::What;

const PartitionName kNamedPartition{kPool, kNamed};

}  // namespace

Grant grant_of(uint8_t host) {
  Grant grant;
  grant.pool = kPool;
  grant.id = lease_of(host);
  grant.host = tag_of(host);
  grant.container = "container";
  grant.tenant = kTenant;
  grant.ipus = 4;
  grant.since_ms = kNow;
  return grant;
}

namespace {

Claim claim_of(uint8_t host) {
  Claim claim;
  claim.id = lease_of(host);
  claim.host = tag_of(host);
  claim.container = "container";
  return claim;
}

bool is_on_gcd(const Scene& scene, uint8_t host) {
  return std::any_of(scene.roles.begin(), scene.roles.end(), [&](const Role& one) {
    return one.host == host && one.job == Job::kStartOnGcd;
  });
}

// Undoes the effects of the host's lease, in the order of the product's table.
Status undo(Desk& desk, const hook::lifecycle::end::Effect& effect, bool on_gcd,
            const std::string& taken) {
  namespace end = hook::lifecycle::end;
  const uint8_t host = desk.role.host;
  const std::string own = taken.empty() ? partition_of(host) : taken;
  if (effect.name == end::kPartition && !on_gcd && !desk.is(What::kRemove, own))
    return Error(Code::kUnavailable, "the controller does not answer");
  if (effect.name != end::kClaim) return {};
  if (has_warm(desk.scene.roles)) return remove_grant(desk, taken);
  if (on_gcd) return hook::fleet::unclaim(desk.fleet, kNamedPartition, lease_of(host));
  TRY(hook::fleet::ungrant(desk.fleet, kPool, lease_of(host)));
  return {};
}

bool has_role(const std::vector<Role>& roles, std::initializer_list<Job> jobs) {
  return std::any_of(roles.begin(), roles.end(), [&](const Role& one) {
    return std::find(jobs.begin(), jobs.end(), one.job) != jobs.end();
  });
}

}  // namespace

bool has_warm(const std::vector<Role>& roles) {
  return has_role(roles, {Job::kStartWarm, Job::kRefill, Job::kGiveBack});
}
bool has_reservation(const std::vector<Role>& roles) {
  return has_role(roles, {Job::kReserve, Job::kStartReserved, Job::kEndReserved});
}

void release(Desk& desk) {
  const Answer& over = desk.replay.ask({What::kTakeOver});
  if (over.error) return;
  // Its container has a partition that outlives it.
  if (has_role(desk.scene.roles, {Job::kStartReserved})) {
    desk.is(What::kForget);
    return;
  }
  const std::string taken = over.partitions.empty() ? "" : over.partitions.front().id;
  const bool on_gcd = is_on_gcd(desk.scene, desk.role.host);
  std::vector<std::string_view> remaining;
  for (const hook::lifecycle::end::Effect& effect : hook::lifecycle::end::effects()) {
    const bool must_wait =
        std::any_of(remaining.begin(), remaining.end(), [&](std::string_view other) {
          return std::count(effect.after.begin(), effect.after.end(), other) > 0;
        });
    if (must_wait && desk.scene.rules.keeps_grant_of_partition) continue;
    if (!undo(desk, effect, on_gcd, taken).ok()) remaining.push_back(effect.name);
  }
  if (remaining.empty()) desk.is(What::kForget);
}

// The container runs until it ends by itself, and poststop releases it.
void live(Desk& desk) {
  if (desk.is(What::kRun)) desk.is(What::kEnd);
  release(desk);
}

namespace {

void start(Desk& desk) {
  if (!desk.is(What::kIntend)) return;
  const uint8_t host = desk.role.host;
  const Result<bool> granted = hook::fleet::grant_at_once(desk.fleet, {kPool}, grant_of(host));
  if (!granted.ok() || !granted.value()) return release(desk);
  if (!desk.is(What::kCreate, partition_of(host))) return release(desk);
  live(desk);
}

void start_in_queue(Desk& desk) {
  if (!desk.is(What::kIntend)) return;
  const uint8_t host = desk.role.host;
  const Resource pool{kPool};
  Ticket ticket;
  ticket.host = tag_of(host);
  ticket.id = hook::fleet::ticket_id(ticket.host, lease_of(host));
  ticket.tenant = kTenant;
  if (!hook::fleet::take_ticket(desk.fleet, pool, ticket).ok()) return release(desk);
  const auto shares = hook::fleet::read_shares(desk.fleet);
  const Result<bool> granted =
      shares.ok()
          ? hook::fleet::grant_as_seen(desk.fleet, pool, grant_of(host), &ticket, shares.value())
          : Result<bool>(shares.error());
  const bool is_made =
      granted.ok() && granted.value() && desk.is(What::kCreate, partition_of(host));
  (void)hook::fleet::leave_line(desk.fleet, pool, ticket);
  if (!is_made) return release(desk);
  live(desk);
}

void start_on_gcd(Desk& desk) {
  if (!desk.is(What::kIntend)) return;
  const Claim wanted = claim_of(desk.role.host);
  const Result<ClaimDuty> duty = hook::fleet::claim(desk.fleet, kNamedPartition, wanted, {});
  if (!duty.ok() || duty.value() == ClaimDuty::kWait) return release(desk);
  if (duty.value() == ClaimDuty::kReset) {
    if (!desk.is(What::kReset, kNamed)) return release(desk);
    if (!hook::fleet::finish_reset(desk.fleet, kNamedPartition, wanted.id).ok())
      return release(desk);
  }
  live(desk);
}

// What sweep() of fleet_claims.cc and sweep_grants() do, whose ledger this model has not.
void sweep(Desk& desk) {
  const uint8_t host = desk.role.host;
  const bool on_gcd = is_on_gcd(desk.scene, host);
  std::vector<Error> obstacles;
  RowState row = RowState::kNone;
  bool had_lease = false;
  const auto read_ledger = [&] {
    const Answer& answer = desk.replay.ask({What::kReadLedger});
    row = answer.row;
    had_lease = answer.had_lease;
  };
  if (!desk.scene.rules.reads_ledger_last) read_ledger();
  const auto waiting = hook::fleet::list_queue(desk.fleet);
  const auto claims = hook::fleet::list_claims(desk.fleet, obstacles);
  const auto grants = hook::fleet::list_grants(desk.fleet, obstacles);
  if (desk.scene.rules.reads_ledger_last) read_ledger();
  if (!waiting.ok() || !claims.ok() || !grants.ok() || desk.replay.is_over()) return;
  bool is_known = false;
  for (const auto& one : claims.value()) {
    if (one.claim.host != tag_of(host)) continue;
    is_known = true;
    if (row == RowState::kNone) (void)hook::fleet::unclaim(desk.fleet, one.partition, one.claim.id);
  }
  for (const Grant& one : grants.value()) {
    if (one.host != tag_of(host)) continue;
    if (one.id != lease_of(host)) continue;
    is_known = true;
    if (row != RowState::kNone) continue;
    const bool has_more = !one.partition.empty() && desk.scene.rules.reads_grants;
    if (has_more && (!had_lease || !desk.is(What::kRemove, one.partition))) continue;
    (void)hook::fleet::ungrant(desk.fleet, one.pool, one.id);
  }
  if (has_reservation(desk.scene.roles)) return sweep_reservation(desk, grants.value());
  // Its process has ended, or this would not be its only lease.
  for (const auto& one : waiting.value())
    if (one.ticket.host == tag_of(host) && row == RowState::kNone)
      (void)hook::fleet::leave_line(desk.fleet, one.resource, one.ticket);
  if (row != RowState::kRunning || is_known) return;
  if (on_gcd) {
    (void)hook::fleet::claim(desk.fleet, kNamedPartition, claim_of(host), {});
  } else {
    (void)hook::fleet::grant_again(desk.fleet, grant_of(host));
  }
}

void collect(Desk& desk) {
  const bool is_warm = has_warm(desk.scene.roles);
  release(desk);
  if (is_warm || has_reservation(desk.scene.roles)) collect_record(desk);
  sweep(desk);
  if (is_warm) sweep_warm(desk);
}

// The beat of a host, and gc.
void keep(Desk& desk) {
  hook::fleet::HostFacts me;
  me.tag = tag_of(desk.role.host);
  const Status beat = hook::fleet::beat(desk.store, kPrefix, me, kNow, desk.fleet.deadline);
  if (desk.replay.is_over()) return;
  const bool is_fenced = !beat.ok() && beat.error().code() == Code::kDenied;
  if (is_fenced && desk.scene.rules.obeys_fence) desk.is(What::kEnd);
  collect(desk);
}

void fence(Desk& desk) {
  namespace partitions = hook::lifecycle::partitions;
  hook::lifecycle::Env& env = desk.scene.env;
  const auto pools = desk.scene.pools;
  const Deadline deadline = Deadline::after(std::chrono::minutes(10));
  env.controller = [&](const hook::config::PoolConfig&) {
    return std::make_unique<ReplayController>(desk.replay);
  };
  env.store = [&](const hook::config::FleetConfig&) {
    return std::make_unique<ReplayStore>(desk.replay, desk.scene.rules);
  };
  std::vector<Error> obstacles;
  const std::string host = tag_of(0);
  const Rules& rules = desk.scene.rules;
  if (!rules.removes_partitions_first) {
    if (!hook::fleet::fence(desk.fleet, host, tag_of(1), kNow).ok()) return;
  }
  if (!rules.lists_after_fence || !rules.fences_warm) {
    const auto seen = partitions::find_fenced(env, pools, host, deadline, obstacles);
    if (!seen.ok() || !obstacles.empty() || desk.replay.is_over()) return;
    if (!hook::fleet::begin_fence(desk.fleet, host, tag_of(1), kNow, hook::fleet::IfAlive::kRefuse)
             .ok())
      return;
    for (const auto& one : seen.value().partitions)
      if (!desk.is(What::kRemove, one.partition.id)) return;
    if (hook::fleet::fence(desk.fleet, host, tag_of(1), kNow).ok()) desk.is(What::kRecordFence);
    return;
  }
  const auto done =
      partitions::fence_host(env, pools, host, hook::fleet::IfAlive::kRefuse, deadline, obstacles);
  if (done.ok() && obstacles.empty() && !desk.replay.is_over()) desk.is(What::kRecordFence);
}

}  // namespace

std::string tag_of(uint8_t host) { return host == 0 ? "aaaaaaaa" : "bbbbbbbb"; }
std::string lease_of(uint8_t host) { return str("lease", int{host}); }
std::string warm_of(uint8_t host) {
  return str("f-", kFleetId.substr(0, 8), "-0000000000", int{host} + 10);
}
std::string reserved_of(uint8_t host) { return str("r-", tag_of(host), "-0123456789ab"); }
std::string partition_of(uint8_t host) { return str("c-", tag_of(host), "-0123456789ab"); }

const Answer& Replay::ask(Call call) {
  static const Answer kRefused{Error(Code::kUnavailable, "over")};
  if (at_ < answers_.size()) return *answers_[at_++];
  if (!next_) next_ = std::move(call);
  return kRefused;
}

std::optional<Call> next_call(const Scene& scene, const Role& role,
                              std::vector<const Answer*> answers) {
  Replay replay(std::move(answers));
  Desk desk(scene, role, replay);
  switch (role.job) {
    case Job::kStart:
      start(desk);
      break;
    case Job::kStartInQueue:
      start_in_queue(desk);
      break;
    case Job::kStartOnGcd:
      start_on_gcd(desk);
      break;
    case Job::kKeep:
      keep(desk);
      break;
    case Job::kCollect:
      collect(desk);
      break;
    case Job::kStartWarm:
      start_warm(desk);
      break;
    case Job::kRefill:
      refill(desk);
      break;
    case Job::kGiveBack:
      give_back(desk);
      break;
    case Job::kReserve:
      reserve(desk);
      break;
    case Job::kStartReserved:
      start_reserved(desk);
      break;
    case Job::kEndReserved:
      end_reserved(desk);
      break;
    case Job::kFence:
      fence(desk);
      break;
  }
  return replay.take();
}

const char* name_of(Job job) {
  switch (job) {
    case Job::kStart:
      return "start";
    case Job::kStartInQueue:
      return "start in the queue";
    case Job::kStartOnGcd:
      return "start on a GCD";
    case Job::kStartWarm:
      return "start with a warm partition";
    case Job::kRefill:
      return "refill";
    case Job::kGiveBack:
      return "give back";
    case Job::kReserve:
      return "reserve";
    case Job::kStartReserved:
      return "start with a reservation";
    case Job::kEndReserved:
      return "end of a reservation";
    case Job::kKeep:
      return "beat and gc";
    case Job::kCollect:
      return "gc";
    case Job::kFence:
      return "fence";
  }
  return "";
}

}  // namespace model::fences
