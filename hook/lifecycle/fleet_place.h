// SPDX-License-Identifier: Apache-2.0
// One request in the queue that hosts of a fleet share, and its IPUs in the fleet's books.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/fleet/grants.h"
#include "hook/fleet/queue.h"
#include "hook/fleet/warm.h"
#include "hook/ledger/queue.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/open_fleet.h"

namespace hook::lifecycle {

// Returns whether the hosts of a fleet share the pool, and so its queue.
[[nodiscard]] bool is_shared(const config::PoolConfig& pool);

// Returns the grant of LEASE's IPUs.
[[nodiscard]] fleet::Grant grant_of(const Env& env, const ledger::Lease& lease);

// Removes those of TICKETS that are of this host, and whose requests have ended.
base::Status sweep_tickets(Env& env, const OpenFleet& fleet,
                           const std::vector<fleet::Waiting>& tickets);

// What is served before a request, in that order; its own place is not among them.
struct Before {
  std::vector<ledger::Waiter> waiters = {};
  bool is_cancelled = false;   // somebody told the request to give up
  bool is_over_limit = false;  // its tenant has to give something back first
  bool was_made = false;       // by an earlier attempt
};

// Returns the kind of the warm partition that a claim may take, or null, by what the fleet's
// TENANTS are; fails if the claim must not be made, or kept. Called before each attempt that may
// have been carried out, with what that one depends on, so the last call says what holds for a
// claim that was made. Called again, for its failures and effects alone, by each claim that finds
// the earlier one kept.
using KindOf = std::function<base::Result<const fleet::WarmKind*>(
    const std::vector<config::TenantConfig>& tenants)>;

class FleetPlace {
 public:
  // The place of a request for RESOURCE; it has none in the queue yet. OF_HOST: the tenants of the
  // configuration, which must outlive the place; null: none.
  FleetPlace(Env& env, OpenFleet fleet, fleet::Resource resource,
             const std::vector<config::TenantConfig>* of_host)
      : env_(&env), fleet_(std::move(fleet)), resource_(std::move(resource)), of_host_(of_host) {}

  // Takes a place at the end for ME. Fails with kDenied if the tenant's max_waiters or max_wait, or
  // a fence, forbids it.
  base::Status enter(const ledger::Waiter& me);
  [[nodiscard]] bool is_in_line() const { return ticket_.has_value(); }
  // Says that the request is for IPUS.
  base::Status resize(uint32_t ipus);
  // Says that those behind it leave BLOCK to it; nothing: that none may pass it.
  void pin(const std::optional<vipu::Block>& block);
  // Returns what is served before ME. Keeps the place. Fails with kDenied once it has waited for
  // longer than its tenant's max_wait, which may have become shorter.
  base::Result<Before> before(const ledger::Waiter& me);
  // Waits until the queue changes, 2 s at most.
  base::Status wait(const base::Deadline& deadline);
  // Waits until somebody gives IPUs back, LONGEST at most.
  base::Status wait_for_room(std::chrono::milliseconds longest, const base::Deadline& deadline);
  // Gives the place up. What cannot be told to the store ends there by itself.
  void leave();
  // Does so for a request that has its IPUs. Returns kCancelled if somebody told it to give up
  // before that.
  fleet::Left leave_served();

  // Records GRANT for ME, unless that returns who is served first. Those do not count, as long as
  // BESIDE, which ME leaves to it, is pinned for the first of them. Takes a warm partition of the
  // fleet for it, if there is one of the KIND. Fails with kBusy or kDenied, in the words for the
  // user, if the tenant's share forbids it. After kTimeout it may be recorded.
  base::Result<Before> claim(const fleet::Grant& grant, const ledger::Waiter& me,
                             const KindOf& kind, const std::optional<vipu::Block>& beside);
  // Returns whether claim() would record GRANT now, as it does, without recording it.
  base::Result<Before> may_claim(const fleet::Grant& grant, const ledger::Waiter& me,
                                 const std::optional<vipu::Block>& beside);
  // Returns the warm partition that the last claim took; empty: none.
  [[nodiscard]] std::string taken() const { return is_made_ ? claimed_->partition : ""; }
  // Keeps the place for LONGEST, in which the request asks its controller and looks at no queue:
  // one that died meanwhile holds others up for as long. The next look ends that.
  void hold(std::chrono::milliseconds longest);
  // Takes the grant back, if one may have been recorded, but not one that took a partition: that
  // goes first, and the grant with the lease. What cannot be told to the store now is for
  // sweep_claims().
  void unclaim();

 private:
  base::Status check_wait(const ledger::Waiter& me, const fleet::Shares& shares) const;
  // With the mark as the ledger has it now: a request may wait for long.
  [[nodiscard]] fleet::Fleet at() const;
  base::Status keep();
  base::Status tell(const fleet::Shares& shares, const ledger::Waiter& me);
  base::Result<Before> look(const ledger::Waiter& me, const fleet::Shares* shares);
  base::Result<Before> judge(const ledger::Waiter& me, const fleet::Line& line,
                             const fleet::Shares& shares);
  base::Result<Before> check_claim(const fleet::Grant& grant, const ledger::Waiter& me,
                                   const fleet::Shares& shares,
                                   const std::optional<vipu::Block>& beside);
  base::Result<Before> try_claim(fleet::Grant& grant, const ledger::Waiter& me, const KindOf& kind,
                                 const std::optional<vipu::Block>& beside);
  base::Result<std::optional<fleet::Warm>> choose_warm(
      fleet::Grant& grant, const KindOf& kind,
      const std::vector<config::TenantConfig>& tenants) const;

  Env* env_;
  OpenFleet fleet_;
  fleet::Resource resource_;
  const std::vector<config::TenantConfig>* of_host_;
  std::optional<fleet::Ticket> ticket_ = {};
  std::chrono::steady_clock::time_point kept_ = {};   // when the ticket was kept last
  std::chrono::steady_clock::time_point since_ = {};  // when the place was taken
  int64_t line_revision_ = 0;                         // at the last look at the queue
  int64_t room_revision_ = 0;                         // after which IPUs may have become free
  std::optional<fleet::Grant> claimed_ = {};          // it may be recorded
  bool is_made_ = false;                              // it is recorded
  bool is_held_ = false;                              // the ticket may have a longer lease
};

}  // namespace hook::lifecycle
