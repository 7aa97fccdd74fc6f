// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/named_grant.h"

#include <optional>

#include "base/names.h"
#include "base/text.h"
#include "hook/container/plan/plan.h"
#include "hook/lifecycle/end/release.h"
#include "hook/lifecycle/fleet_place.h"
#include "hook/lifecycle/fleet_share.h"
#include "hook/lifecycle/open_fleet.h"
#include "hook/lifecycle/partitions/fleet_claims.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "hook/lifecycle/start/walls.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;
using std::chrono::milliseconds;

constexpr milliseconds kResetTime{1000};  // between two looks at a reset of another process

// Resets a partition that others had before a container gets it, unless it is reconfigurable.
Status reset_if_used(Env& env, vipu::Controller& controller, const ledger::Lease& lease,
                     const Deadline& deadline) {
  LedgerWatch watch = TRY(LedgerWatch::start(env));
  for (;;) {
    TRY(env.ledger.queue().check_wanted(lease.id));
    const ledger::ResetDuty duty = TRY(env.ledger.partitions().reset_duty(lease));
    if (duty == ledger::ResetDuty::kNone) return {};
    if (duty == ledger::ResetDuty::kMine) {
      TRY(controller.reset(lease.partition, vipu::Relocate::kNo, deadline));
      return env.ledger.partitions().finish_reset(lease);
    }
    if (deadline.passed()) {
      return Error(Code::kTimeout, str("partition ", base::quote(lease.partition),
                                       " is still being reset for another container; start the"
                                       " container again"));
    }
    TRY(watch.wait(kResetTime, deadline));
    (void)end::make_room(env, lease.pool);  // the lease that resets it may have died
  }
}

// Returns who asks for the partition of LEASE. The lease counts for the tenant of its reservation.
// A container of a pod has the pod's tenant.
const std::string& asker(const GrantRequest& what, const ledger::Lease& lease) {
  return lease.origin == ledger::Origin::kJoined ? lease.tenant : what.request.tenant;
}

// Checks that the tenant that asks may have the partition of LEASE, by the fleet's tenants, too.
Status may_have_partition(vipu::Controller& controller, const GrantRequest& what,
                          const ledger::Lease& lease,
                          const std::vector<config::TenantConfig>& of_fleet) {
  return check_named_partition(controller, what.pool,
                               {what.config.policy.tenants, of_fleet, asker(what, lease)},
                               lease.partition, Deadline::after(what.pool.timeout));
}

// Returns the tenants of the fleet that shares the pool of LEASE; none without a fleet, or for a
// container of a pod, whose sandbox has the IPUs already.
Result<std::vector<config::TenantConfig>> tenants_of_fleet(Env& env, const GrantRequest& what,
                                                           const ledger::Lease& lease) {
  std::vector<config::TenantConfig> none;
  if (!is_shared(what.pool) || lease.origin == ledger::Origin::kJoined) return none;
  const std::optional<OpenFleet> fleet = TRY(open_fleet(env));
  if (!fleet) return none;
  fleet::Shares shares = TRY(fleet::read_tenants(fleet->at_last()));
  TRY(check_walls(shares, asker(what, lease)));
  return std::move(shares.tenants);
}

// Claims the GCDs of a partition that hosts of a fleet share, and resets it if that is this start's
// duty. A request that waits also waits for GCDs that another host has, with a place in the queue.
Status claim_in_fleet(Env& env, vipu::Controller& controller, const GrantRequest& what,
                      const ledger::Lease& lease, const Deadline& until) {
  const milliseconds timeout = what.pool.timeout;
  const auto deadline = Deadline::after(timeout + until.left());
  // A tenant resets no partition of another one.
  const auto may_have = [&](const std::vector<config::TenantConfig>& of_fleet) {
    return may_have_partition(controller, what, lease, of_fleet);
  };
  std::optional<Error> refusal;
  bool has_claim = false;
  for (;;) {
    TRY(env.ledger.queue().check_wanted(lease.id));
    TRY(env.still_wanted());
    const Status is_first = has_claim ? Status() : what.turn.check_first();
    const Result<fleet::ClaimDuty> duty =
        is_first.ok() ? partitions::claim_gcds(env, lease, may_have, deadline)
                      : Result<fleet::ClaimDuty>(is_first.error());
    has_claim = has_claim || duty.ok();
    const bool is_taken = !duty.ok() && duty.error().code() == Code::kBusy;
    if (is_taken) refusal = duty.error();
    // Who has it says more than that there was no time left to ask again.
    if (!duty.ok() && until.passed() && refusal) return *refusal;
    if (!duty.ok() && !is_taken) return duty.error();
    if (duty.ok() && duty.value() == fleet::ClaimDuty::kNone) return {};
    if (duty.ok() && duty.value() == fleet::ClaimDuty::kReset) {
      TRY(controller.reset(lease.partition, vipu::Relocate::kNo, Deadline::after(timeout)));
      return partitions::finish_claimed_reset(env, lease, deadline);
    }
    if (duty.ok() && deadline.passed()) {
      return Error(Code::kTimeout, str("partition ", base::quote(lease.partition),
                                       " is still being reset for a container of another host;"
                                       " start the container again"));
    }
    if (is_taken) TRY(what.turn.join(until));
    const Status waited = partitions::wait_for_claims(env, lease, is_taken ? until : deadline);
    // If etcd is away, the next claim says so.
    if (!waited.ok() && !partitions::is_silence(waited.error())) return waited;
  }
}

// Checks that an adopted partition still has its IPUs: its maker may have made it again since.
Status check_unchanged(const ledger::Lease& lease, const vipu::Grant& grant) {
  size_t ipus = 0;
  for (const vipu::IpuofConfig& gcd : grant.gcds) ipus += gcd.devices.size();
  if (lease.origin != ledger::Origin::kForeign || ipus == lease.ipus) return {};
  return Error(Code::kInvalid,
               str(gcds_text(lease), " of partition ", base::quote(lease.partition),
                   lease.gcds == 1 ? " has " : " have ", ipus, " IPUs, but had ", lease.ipus,
                   " when the partition was adopted; run 'ipuctl partition remove', then 'ipuctl"
                   " partition adopt'"));
}

}  // namespace

Result<vipu::Grant> named_grant(Env& env, vipu::Controller& controller, const GrantRequest& what,
                                const ledger::Lease& lease, const Deadline& until) {
  // A claim does so, too, but not one that an earlier attempt has made.
  const std::vector<config::TenantConfig> of_fleet = TRY(tenants_of_fleet(env, what, lease));
  TRY(may_have_partition(controller, what, lease, of_fleet));
  if (!lease.claim.empty()) TRY(claim_in_fleet(env, controller, what, lease, until));
  const auto deadline = Deadline::after(what.pool.timeout);
  if (lease.claim.empty()) TRY(reset_if_used(env, controller, lease, deadline));
  vipu::Grant grant = TRY(controller.wait(lease.partition, deadline));
  if (grant.cards.empty()) {
    grant.gcds = TRY(plan::gcds_of(lease, grant.gcds));
    TRY(check_unchanged(lease, grant));
  }
  return grant;
}

}  // namespace hook::lifecycle::start
