// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/fleet_place.h"

#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "hook/fleet/keys.h"
#include "hook/lifecycle/fleet_share.h"
#include "hook/lifecycle/queue_turn.h"
#include "hook/lifecycle/shares.h"
#include "vipu/made_name.h"

namespace hook::lifecycle {
namespace {

using namespace base::names;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A wait for changes ends so often, to see whether anybody wants its result.
constexpr milliseconds kSliceTime{2'000};
// Each attempt fails only if another request of the tenant got IPUs in the same moment.
constexpr int kMostClaims = 50;

ledger::Waiter waiter_of(const fleet::Ticket& ticket, int64_t number, int64_t now_ms) {
  ledger::Waiter waiter;
  waiter.ticket = number;
  waiter.container = ticket.container;
  waiter.ipus = ticket.ipus;
  waiter.tenant = ticket.tenant;
  waiter.user = ticket.user;
  waiter.until_ms = ticket.until_ms;
  // The hosts' clocks differ, so each says itself what it has waited for too long.
  waiter.since_ms = ticket.is_aged ? now_ms - kLongestPass.count() : now_ms;
  waiter.host = ticket.host;
  waiter.pinned = ticket.pinned;
  return waiter;
}

// Fails if as many requests of SHARE's tenant wait as may, before ME; before a new one if that is
// null.
Status check_waiters(const fleet::Fleet& fleet, const config::TenantConfig& share,
                     const fleet::Ticket* me) {
  const std::vector<fleet::Waiting> all = TRY(fleet::list_queue(fleet));
  const auto own = std::find_if(all.begin(), all.end(), [&](const fleet::Waiting& one) {
    return me != nullptr && one.ticket.id == me->id;
  });
  const auto count = std::count_if(
      all.begin(), own, [&](const fleet::Waiting& one) { return one.ticket.tenant == share.name; });
  if (count < int64_t{share.max_waiters}) return {};
  return Error(Code::kDenied,
               str("no place in the queue: ", count, " requests of tenant ", quote(share.name),
                   " wait in the fleet, and its max_waiters allows no more; try again later,"
                   " or let an administrator raise it with 'ipuctl tenant set'"));
}

}  // namespace

bool is_shared(const config::PoolConfig& pool) { return pool.provider == config::Provider::kVipu; }

fleet::Grant grant_of(const Env& env, const ledger::Lease& lease) {
  fleet::Grant grant;
  grant.pool = lease.pool;
  grant.id = lease.claim;
  grant.host = env.ledger.host().tag();
  grant.container = base::one_line(lease.container, fleet::kMaxWord);
  grant.tenant = lease.tenant;
  if (vipu::is_of_fleet(lease.partition)) {
    grant.partition = lease.partition;
    grant.source = lease.controller;
  }
  grant.ipus = lease.ipus;
  grant.since_ms = base::unix_millis();
  return grant;
}

fleet::Fleet FleetPlace::at() const {
  fleet::Fleet at = fleet_.at_last();
  const Result<fleet::Mark> known = known_mark(env_->ledger, at.prefix, at.id);
  if (known.ok()) at.mark = known.value();
  return at;
}

Status FleetPlace::enter(const ledger::Waiter& me) {
  const fleet::Shares shares = TRY(fleet::read_shares(at()));
  const config::TenantConfig* const share = TRY(find_share(shares, me.tenant));
  if (share != nullptr) {
    const milliseconds wait(me.until_ms - me.since_ms);
    if (share->max_wait && wait > *share->max_wait) {
      return Error(Code::kDenied,
                   str("a wait of ", base::format_duration(wait), " is longer than ",
                       base::format_duration(*share->max_wait), ", which max_wait of tenant ",
                       quote(me.tenant), " allows in the fleet; wait less"));
    }
    TRY(check_waiters(at(), *share, nullptr));
  }
  fleet::Ticket ticket;
  ticket.host = env_->ledger.host().tag();
  ticket.id = fleet::ticket_id(ticket.host, str(me.ticket, '-', TRY(base::random_hex(4))));
  ticket.container = base::one_line(me.container, fleet::kMaxWord);
  ticket.tenant = me.tenant;
  ticket.ipus = me.ipus;
  ticket.since_ms = me.since_ms;
  ticket.until_ms = me.until_ms;
  ticket.user = me.user;
  TRY(fleet::take_ticket(at(), resource_, ticket));
  // Another host may have counted before this ticket was there. Of both, one counts the other.
  const Status room = share == nullptr ? Status() : check_waiters(at(), *share, &ticket);
  if (!room.ok() && room.error().code() == Code::kDenied) {
    TRY(fleet::leave_line(at(), resource_, ticket));
    return room;
  }
  ticket_ = std::move(ticket);
  kept_ = since_ = steady_clock::now();
  return {};
}

Status FleetPlace::resize(uint32_t ipus) {
  if (!ticket_) return {};
  ticket_->ipus = ipus;
  return fleet::write_ticket(at(), resource_, *ticket_);
}

void FleetPlace::pin(const std::optional<vipu::Block>& block) {
  if (!ticket_ || ticket_->pinned == block) return;
  ticket_->pinned = block;
  // If this fails, nobody passes the request, or others leave it the block that was pinned before.
  (void)fleet::write_ticket(at(), resource_, *ticket_);
}

Status FleetPlace::keep() {
  if (!ticket_) return {};
  if (is_held_ && TRY(fleet::lease_ticket(at(), resource_, *ticket_, std::chrono::seconds(0)))) {
    is_held_ = false;
    kept_ = steady_clock::now();
  }
  if (steady_clock::now() - kept_ < fleet::kTicketKeepTime) return {};
  TRY(fleet::keep_ticket(at(), resource_, *ticket_));
  kept_ = steady_clock::now();
  return {};
}

// Writes into the ticket what only this host's clock can say.
Status FleetPlace::tell(const fleet::Shares& shares, const ledger::Waiter& me) {
  if (!ticket_) return {};
  const config::TenantConfig* const share = config::find_tenant(shares.tenants, me.tenant);
  const bool is_aged = steady_clock::now() - since_ >= kLongestPass;
  const bool is_overdue =
      share != nullptr &&
      ledger::use_of(to_share(*share), holdings_of(shares), base::unix_millis()).overdue != 0;
  if (ticket_->is_aged == is_aged && ticket_->is_overdue == is_overdue) return {};
  ticket_->is_aged = is_aged;
  ticket_->is_overdue = is_overdue;
  return fleet::write_ticket(at(), resource_, *ticket_);
}

Status FleetPlace::check_wait(const ledger::Waiter& me, const fleet::Shares& shares) const {
  const config::TenantConfig* const share = config::find_tenant(shares.tenants, me.tenant);
  const bool is_bound = ticket_ && share != nullptr && share->max_wait;
  if (!is_bound || steady_clock::now() - since_ <= *share->max_wait) return {};
  return Error(Code::kDenied, str("the wait is over: it has become longer than ",
                                  base::format_duration(*share->max_wait),
                                  ", which max_wait of"
                                  " tenant ",
                                  quote(me.tenant), " allows in the fleet by now"));
}

Result<Before> FleetPlace::look(const ledger::Waiter& me, const fleet::Shares* shares) {
  TRY(keep());
  fleet::Line line = TRY(fleet::read_line(at(), resource_));
  const auto mine = [&] {
    return std::find_if(line.tickets.begin(), line.tickets.end(),
                        [&](const fleet::Ticket& one) { return ticket_ && one.id == ticket_->id; });
  };
  if (ticket_ && mine() == line.tickets.end()) {
    TRY(fleet::retake_ticket(at(), resource_, *ticket_));
    line = TRY(fleet::read_line(at(), resource_));
  }
  line_revision_ = line.revision;
  const auto own = mine();
  if (ticket_ && own == line.tickets.end()) {
    return Error(Code::kTimeout, "the fleet's queue lost this request's place; it takes it again");
  }
  Before before;
  if (ticket_) *ticket_ = *own;
  if (ticket_ && ticket_->is_cancelled) {
    before.is_cancelled = true;
    return before;
  }
  std::vector<fleet::Waiting> others;
  for (const fleet::Ticket& one : line.tickets)
    if (!ticket_ || one.id != ticket_->id) others.push_back({resource_, one});
  TRY(sweep_tickets(*env_, fleet_, others));
  if (shares != nullptr) TRY(check_wait(me, *shares));
  if (others.empty()) return before;
  std::optional<fleet::Shares> read;
  if (shares == nullptr) {
    shares = &read.emplace(TRY(fleet::read_shares(at())));
    TRY(check_wait(me, *shares));
  }
  return judge(me, line, *shares);
}

Result<Before> FleetPlace::judge(const ledger::Waiter& me, const fleet::Line& line,
                                 const fleet::Shares& shares) {
  const int64_t now_ms = base::unix_millis();
  Before before;
  std::vector<ledger::Waiter> waiters;
  int64_t own = 0;
  Standing standing{shares.tenants, {}, {}, now_ms};
  const std::vector<config::TenantConfig> none;
  const std::vector<config::TenantConfig>& of_host = of_host_ == nullptr ? none : *of_host_;
  for (const fleet::Ticket& ticket : line.tickets) {
    if (are_apart(of_host, shares.tenants, ticket.tenant, me.tenant)) continue;
    waiters.push_back(waiter_of(ticket, static_cast<int64_t>(waiters.size()) + 1, now_ms));
    if (ticket_ && ticket.id == ticket_->id) own = waiters.back().ticket;
    if (ticket.is_overdue) standing.overdue.insert(ticket.tenant);
  }
  if (own == 0) {
    waiters.push_back(me);  // the newest
    own = waiters.back().ticket = static_cast<int64_t>(waiters.size());
    waiters.back().since_ms = now_ms;
  }
  if (shares.tenants.empty()) {
    waiters.resize(static_cast<size_t>(own) - 1);
    before.waiters = std::move(waiters);
    return before;
  }
  TRY(tell(shares, me));
  std::vector<fleet::Waiting> waiting;
  for (const fleet::Ticket& ticket : line.tickets) waiting.push_back({resource_, ticket});
  for (const ledger::Holding& holding : without_waiting(holdings_of(shares), waiting))
    standing.held[holding.tenant] += holding.ipus;
  // As check_share() counts them.
  for (const config::TenantConfig& tenant : shares.tenants)
    standing.held[tenant.name] += shares.unowned;
  const std::vector<Ranked> order = served_order(waiters, standing);
  before.is_over_limit = std::any_of(order.begin(), order.end(), [&](const Ranked& one) {
    return one.waiter.ticket == own && one.rank == Rank::kOverLimit;
  });
  before.waiters = served_before(order, own);
  return before;
}

Result<Before> FleetPlace::before(const ledger::Waiter& me) { return look(me, nullptr); }

Status FleetPlace::wait(const Deadline& deadline) {
  const std::string below = fleet::queue_prefix(fleet_.config.prefix, resource_);
  return fleet::wait_for_news(fleet_.at(deadline.capped(kSliceTime)), below, line_revision_);
}

Status FleetPlace::wait_for_room(milliseconds longest, const Deadline& deadline) {
  if (room_revision_ == 0) {
    const fleet::Line line = TRY(fleet::read_line(at(), resource_));
    room_revision_ = line.revision;
  }
  const std::string below = fleet::grants_prefix(fleet_.config.prefix);
  const fleet::Fleet at = fleet_.at(deadline.capped(longest));
  const Result<fleet::Changes> changes = at.store.wait(below, room_revision_ + 1, at.deadline);
  const bool is_forgotten = !changes.ok() && changes.error().code() == Code::kNotFound;
  if (!changes.ok() && !is_forgotten) return changes.error();
  // The same change is no news again.
  room_revision_ = is_forgotten ? 0 : std::max(room_revision_, changes.value().next - 1);
  return {};
}

void FleetPlace::leave() {
  if (ticket_) (void)fleet::leave_line(at(), resource_, *ticket_);
  ticket_.reset();
}

fleet::Left FleetPlace::leave_served() {
  const auto left = ticket_ ? fleet::leave_served(at(), resource_, *ticket_)
                            : Result<fleet::Left>(fleet::Left::kYes);
  const bool is_gone = left.ok() && left.value() == fleet::Left::kYes;
  if (is_gone) ticket_.reset();
  leave();
  return left.ok() ? left.value() : fleet::Left::kYes;
}

// Returns the warm partition that has been idle for longest, which GRANT is then to take.
Result<std::optional<fleet::Warm>> FleetPlace::choose_warm(
    fleet::Grant& grant, const KindOf& kind,
    const std::vector<config::TenantConfig>& tenants) const {
  grant.partition.clear();
  grant.source.clear();
  const fleet::WarmKind* const wanted = TRY(kind(tenants));
  if (wanted == nullptr) return std::optional<fleet::Warm>();
  std::vector<Error> obstacles;  // what cannot be read is not taken
  for (fleet::Warm& one : TRY(fleet::list_warm(at(), wanted->pool, obstacles))) {
    if (one.phase != fleet::WarmPhase::kIdle || one.kind != *wanted) continue;
    grant.partition = one.name;
    grant.source = one.kind.source;
    return std::optional<fleet::Warm>(std::move(one));
  }
  return std::optional<fleet::Warm>();
}

Result<Before> FleetPlace::check_claim(const fleet::Grant& grant, const ledger::Waiter& me,
                                       const fleet::Shares& shares,
                                       const std::optional<vipu::Block>& beside) {
  Before before = TRY(look(me, &shares));
  if (beside && !before.waiters.empty() && before.waiters.front().pinned == beside)
    before.waiters.clear();
  if (before.is_cancelled || !before.waiters.empty()) return before;
  TRY(check_share(shares, grant));
  TRY(check_walls(shares, grant.tenant));
  return before;
}

Result<Before> FleetPlace::may_claim(const fleet::Grant& grant, const ledger::Waiter& me,
                                     const std::optional<vipu::Block>& beside) {
  const fleet::Shares shares = TRY(fleet::read_shares(at()));
  return check_claim(grant, me, shares, beside);
}

Result<Before> FleetPlace::try_claim(fleet::Grant& grant, const ledger::Waiter& me,
                                     const KindOf& kind, const std::optional<vipu::Block>& beside) {
  for (int i = 0; i < kMostClaims; ++i) {
    // Of an earlier attempt, which may have taken a partition, also if its answer was lost. A fence
    // may have removed it since.
    const bool may_be_made = i > 0 || (claimed_ && claimed_->id == grant.id);
    const auto made = TRY(may_be_made ? fleet::find_grant(at(), grant.pool, grant.id)
                                      : Result<std::optional<fleet::Grant>>(std::nullopt));
    if (made) {
      const fleet::Shares tenants = TRY(fleet::read_tenants(at()));
      TRY(check_walls(tenants, grant.tenant));
      TRY(kind(tenants.tenants));  // the tenant's allocation may be another one by now
      grant = *made;
      Before before;
      before.was_made = true;
      return before;
    }
    if (i == 0 && !ticket_) {
      const auto warm = TRY(choose_warm(grant, kind, {}));
      const fleet::Warm* const taken = warm ? &*warm : nullptr;
      if (TRY(fleet::grant_at_once(at(), resource_, grant, taken))) return Before();
    }
    const fleet::Shares shares = TRY(fleet::read_shares(at()));
    Before before = TRY(check_claim(grant, me, shares, beside));
    if (before.is_cancelled || !before.waiters.empty()) return before;
    const auto warm = TRY(choose_warm(grant, kind, shares.tenants));
    const fleet::Warm* const taken = warm ? &*warm : nullptr;
    const fleet::Ticket* const ticket = ticket_ ? &*ticket_ : nullptr;
    if (TRY(fleet::grant_as_seen(at(), resource_, grant, ticket, shares, taken))) return before;
  }
  return Error(Code::kBusy, str("what tenant ", quote(grant.tenant),
                                " has in the fleet changes all the time; try again"));
}

Result<Before> FleetPlace::claim(const fleet::Grant& grant, const ledger::Waiter& me,
                                 const KindOf& kind, const std::optional<vipu::Block>& beside) {
  fleet::Grant claimed = grant;
  Result<Before> done = try_claim(claimed, me, kind, beside);
  is_made_ = done.ok() && !done.value().is_cancelled && done.value().waiters.empty();
  const bool may_be_made = !done.ok() && done.error().code() == Code::kTimeout;
  // An earlier attempt, whose answer was lost, may have taken a partition of which this one knows
  // nothing.
  const bool knows_less =
      claimed_ && claimed_->id == claimed.id && !claimed_->partition.empty() && !is_made_;
  if (is_made_ || (may_be_made && !knows_less)) claimed_ = std::move(claimed);
  return done;
}

void FleetPlace::hold(milliseconds longest) {
  if (!ticket_) return;
  is_held_ = true;  // also if the answer is lost
  // Without it, the place is kept for as long as after any look.
  (void)fleet::lease_ticket(at(), resource_, *ticket_,
                            std::chrono::ceil<std::chrono::seconds>(longest));
}

void FleetPlace::unclaim() {
  if (!claimed_ || !claimed_->partition.empty()) return;
  is_made_ = false;
  const Result<int64_t> revision = fleet::ungrant(at(), claimed_->pool, claimed_->id);
  room_revision_ = revision.ok() ? revision.value() : 0;
  claimed_.reset();
}

}  // namespace hook::lifecycle
