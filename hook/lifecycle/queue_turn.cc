// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/queue_turn.h"

#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/actor.h"
#include "hook/lifecycle/backfill.h"
#include "hook/lifecycle/fleet_pin.h"
#include "hook/lifecycle/shares.h"

namespace hook::lifecycle {
namespace {

using namespace base::names;
using std::chrono::milliseconds;

constexpr milliseconds kLookTime{20};  // between two looks at the ledger's version
// A waiter leaves when its time is over. This much later, one of another pid namespace, which
// cannot be examined, is surely gone.
constexpr int64_t kOverdueMs = 60'000;
constexpr milliseconds kSilenceTime{1000};  // between two looks for a store that is silent
constexpr milliseconds kDeadTime{500};      // a dying process writes nothing, so look anyway

std::string queue_text(const Env& env, const std::vector<ledger::Waiter>& ahead) {
  const ledger::Waiter& first = ahead.front();
  const std::string ipus = first.ipus == 0 ? "" : str(" for ", first.ipus, " IPUs");
  const std::string on = first.host.empty() ? "" : str(" on host ", first.host);
  const std::string by = env.names_others ? str(" by ", requester_text(first.container), on) : "";
  return str(ahead.size(), ahead.size() == 1 ? " request is" : " requests are", " ahead, the first",
             ipus, by);
}

// Returns why the request WHAT does not pass FIRST.
std::string kept_text(const WaitFor& what, const ledger::Waiter& first) {
  if (!first.pinned) return "";
  if (what.backfill == nullptr)
    return "; a request for named cards, or without backfill, passes no other";
  return str("; IPUs ", block_text(*first.pinned), " and what may be free as soon are kept for it");
}

// Returns "4 IPUs of 'pod64'", or "'pod64/p0'", whose record has its size.
std::string wanted_text(const WaitFor& what) {
  const std::string ipus = what.ipus == 0 ? "" : str(what.ipus, " IPUs of ");
  return str(ipus, "'", what.resource, "'");
}

Error cancelled(const WaitFor& what) {
  return {Code::kBusy, str("the wait for ", wanted_text(what),
                           " was cancelled with 'ipuctl queue cancel'; ask again to wait again")};
}

Error full_queue(uint32_t most) {
  return {Code::kBusy, str("no place in the queue: ", most,
                           " requests wait on this host, and policy.max_waiters allows no more; try"
                           " again later, or let an administrator raise it in config.toml")};
}

Error full_for_tenant(const std::string& tenant, uint32_t most) {
  return {Code::kBusy,
          str("no place in the queue: ", most, " requests of tenant ", base::quote(tenant),
              " wait on this host, and its max_waiters allows no more; try again later, or let an"
              " administrator raise it in config.toml")};
}

uint32_t places_of_tenant(const WaitFor& what) {
  if (what.tenants == nullptr) return UINT32_MAX;
  const config::TenantConfig* const tenant = config::find_tenant(*what.tenants, what.tenant);
  return tenant == nullptr ? UINT32_MAX : tenant->max_waiters;
}

bool is_silence(const Status& done) {
  if (done.ok()) return false;
  return done.error().code() == Code::kUnavailable || done.error().code() == Code::kTimeout;
}

// Sleeps if the store was silent: the request waits for it as for all else.
Status outlast_silence(const Status& done, const Deadline& deadline) {
  if (done.ok()) return {};
  if (!is_silence(done) || deadline.passed()) return done.error();
  base::sleep_for(kSilenceTime, deadline);
  return {};
}

// Does so for a wait for news. One that ends with the request's own time has not failed: the look
// that follows says who is ahead, or that the store is silent.
Status outlast_wait(const Status& done, const Deadline& deadline) {
  if (is_silence(done) && deadline.passed()) return {};
  return outlast_silence(done, deadline);
}

struct SortedWaiters {
  std::vector<ledger::Waiter> living;
  std::vector<ledger::Waiter> dead;
};

Result<SortedWaiters> sorted_waiters(Env& env) {
  const std::string boot = TRY(base::boot_id());
  const base::ProcessId self = TRY(base::current_process());
  SortedWaiters sorted;
  for (ledger::Waiter& waiter : TRY(env.ledger.queue().list())) {
    // The clock may be set while a request waits, so it counts only where nothing else does.
    const bool overdue = waiter.owner.pid_namespace != self.pid_namespace &&
                         base::unix_millis() > waiter.until_ms + kOverdueMs;
    const bool lives = !overdue && waiter.boot_id == boot && base::is_running(waiter.owner);
    (lives ? sorted.living : sorted.dead).push_back(std::move(waiter));
  }
  return sorted;
}

}  // namespace

std::string block_text(const vipu::Block& block) {
  if (block.size == 1) return str(block.first);
  return str(block.first, "-", block.first + block.size - 1);
}

std::string requester_text(const std::string& waiter) {
  if (waiter.starts_with(kReservationWaiter)) return waiter;
  return str("container ", base::short_id(waiter));
}

Result<std::vector<ledger::Waiter>> living_waiters(Env& env) {
  return TRY(sorted_waiters(env)).living;
}

Result<std::vector<ledger::Waiter>> waiting(Env& env) {
  SortedWaiters sorted = TRY(sorted_waiters(env));
  for (const ledger::Waiter& waiter : sorted.dead) TRY(env.ledger.queue().leave(waiter.ticket));
  return std::move(sorted.living);
}

Result<LedgerWatch> LedgerWatch::start(const Env& env) {
  const int64_t version = TRY(env.ledger.data_version());
  return LedgerWatch(env, version);
}

Status LedgerWatch::wait(milliseconds longest, const Deadline& deadline) {
  const Deadline end = deadline.capped(longest);
  while (!end.passed()) {
    TRY(env_.still_wanted());
    if (TRY(look()) == News::kSome) return {};
    base::sleep_for(kLookTime, end);
  }
  return {};
}

Result<News> LedgerWatch::look() {
  const int64_t now = TRY(env_.ledger.data_version());
  return now == std::exchange(version_, now) ? News::kNone : News::kSome;
}

Result<std::vector<ledger::Waiter>> Turn::ahead() {
  std::vector<ledger::Waiter> waiters = TRY(waiting(env_));
  const bool is_there =
      std::any_of(waiters.begin(), waiters.end(),
                  [&](const ledger::Waiter& waiter) { return waiter.ticket == ticket_; });
  is_cancelled_ = is_cancelled_ || (ticket_ != 0 && !is_there);
  if (is_cancelled_) return cancelled(what_);
  if (place_) return ahead_in_fleet(place_->before(as_waiter()));
  const bool have_shares = what_.tenants != nullptr && !what_.tenants->empty();
  if (have_shares) return served_first(std::move(waiters));
  std::erase_if(waiters, [&](const ledger::Waiter& waiter) {
    return waiter.resource != what_.resource || (ticket_ != 0 && waiter.ticket >= ticket_);
  });
  return waiters;
}

Result<std::vector<ledger::Waiter>> Turn::ahead_in_fleet(Result<Before> looked) {
  Before before = TRY(looked);
  is_cancelled_ = before.is_cancelled;
  if (is_cancelled_) return cancelled(what_);
  is_over_limit_ = before.is_over_limit;
  return std::move(before.waiters);
}

// Returns those of WAITERS that are served before this request.
Result<std::vector<ledger::Waiter>> Turn::served_first(std::vector<ledger::Waiter> waiters) {
  if (ticket_ == 0) waiters.push_back(as_waiter());  // the newest
  const bool has_walls = what_.shared != nullptr && is_shared(*what_.shared);
  std::erase_if(waiters, [&](const ledger::Waiter& waiter) {
    return waiter.resource != what_.resource ||
           (has_walls && are_apart(*what_.tenants, {}, waiter.tenant, what_.tenant));
  });
  const Standing standing = TRY(standing_of(env_.ledger, *what_.tenants, waiters));
  const std::vector<Ranked> order = served_order(waiters, standing);
  is_over_limit_ = std::any_of(order.begin(), order.end(), [&](const Ranked& ranked) {
    return ranked.waiter.ticket == ticket_ && ranked.rank == Rank::kOverLimit;
  });
  return served_before(order, ticket_);
}

ledger::Waiter Turn::as_waiter() const {
  ledger::Waiter waiter;
  waiter.resource = what_.resource;
  waiter.container = what_.container;
  waiter.bundle = what_.bundle;
  waiter.tenant = what_.tenant;
  waiter.ipus = what_.ipus;
  waiter.since_ms = base::unix_millis();
  return waiter;
}

Result<Turn> Turn::await(Env& env, WaitFor what, const Deadline& patience) {
  Turn turn(env, std::move(what));
  TRY(turn.open_place());
  // In a fleet, the claim says whether others wait.
  if (turn.place_) return turn;
  const std::vector<ledger::Waiter> ahead = TRY(turn.ahead());
  if (ahead.empty() || turn.may_pass(ahead.front())) return turn;
  if (turn.what_.time.count() == 0) return turn.others_wait(ahead);
  TRY(turn.join(patience));
  return turn;
}

Status Turn::open_place() {
  if (what_.shared == nullptr || !is_shared(*what_.shared)) return {};
  std::optional<OpenFleet> fleet = TRY(open_fleet(env_));
  if (!fleet) return {};
  const std::string& prefix = fleet->config.prefix;
  const Status in = env_.ledger.host().check_in(prefix);
  if (!fleet->id.empty() && !in.ok()) return in;
  if (fleet->id.empty()) {
    const Status joined =
        join_known_fleet(env_.ledger, *fleet->store, prefix, fleet->at_last().deadline);
    // A request that waits goes on without: each of its calls joins the fleet that is there.
    if (!joined.ok() && (what_.time.count() == 0 || !in.ok())) return joined;
    fleet->id = TRY(env_.ledger.host().fleet_id(prefix));
  }
  const std::string& pool = what_.shared->name;
  const bool is_whole = what_.resource.size() <= pool.size();
  const fleet::Resource resource{pool, is_whole ? "" : what_.resource.substr(pool.size() + 1)};
  place_.emplace(env_, *std::move(fleet), resource, what_.tenants);
  return {};
}

Error Turn::others_wait(const std::vector<ledger::Waiter>& ahead) const {
  return {Code::kBusy,
          str("others wait for '", what_.resource, "' already (", queue_text(env_, ahead), ")",
              kept_text(what_, ahead.front()), "; queue behind them with ", what_.example)};
}

Status Turn::wait_for_room(LedgerWatch& watch, milliseconds longest, const Deadline& deadline) {
  if (!place_) return watch.wait(longest, deadline);
  TRY(env_.still_wanted());
  return outlast_wait(place_->wait_for_room(2 * longest, deadline), deadline);
}

// A request passes larger ones only: of two that are equally large, the first comes first.
bool Turn::may_pass(const ledger::Waiter& first) {
  pinned_.reset();
  if (what_.backfill == nullptr || !first.pinned) return false;
  if (!passes_ || is_over_limit_) return false;
  if (what_.ipus == 0 || what_.ipus >= first.pinned->size) return false;
  if (has_room_beside(env_, *what_.backfill, *first.pinned, what_.ipus)) pinned_ = first.pinned;
  return pinned_.has_value();
}

void Turn::got_nothing() {
  if (!pinned_ || what_.backfill == nullptr) return;
  if (what_.backfill->provider != config::Provider::kVipu) return;
  if (has_room_beside(env_, *what_.backfill, *pinned_, what_.ipus)) passes_ = false;
}

void Turn::pin() {
  pinned_.reset();
  if (what_.backfill == nullptr || what_.ipus == 0 || is_over_limit_) return;
  const std::optional<vipu::Block> block =
      block_to_pin(env_, *what_.backfill, what_.ipus, own_pin_);
  if (place_) place_->pin(block);
  if (block == own_pin_) return;
  // If this fails, nobody passes the request, or others leave it the block that was pinned before.
  if (env_.ledger.queue().pin(ticket_, block.value_or(vipu::Block())).ok()) own_pin_ = block;
}

Status Turn::confirm() {
  if (what_.backfill == nullptr) return {};
  const std::vector<ledger::Waiter> ahead_now = TRY(ahead());
  if (ahead_now.empty() || !ahead_now.front().pinned) return {};
  if (ahead_now.front().pinned == pinned_) return {};
  pinned_ = ahead_now.front().pinned;
  return Error(Code::kBusy, str("IPUs of '", what_.resource,
                                "' were pinned for another request in"
                                " the same moment"));
}

Status Turn::enter() {
  const std::string pool = what_.resource.substr(0, what_.resource.find('/'));
  TRY(env_.ledger.drain(pool).check());
  ledger::Waiter waiter = as_waiter();
  waiter.user = what_.user >= 0 ? what_.user : ledger::user_who_logged_in();
  waiter.owner = TRY(base::current_process());
  waiter.boot_id = TRY(base::boot_id());
  waiter.until_ms = waiter.since_ms + what_.time.count();
  TRY(waiting(env_));  // the dead count no more
  const ledger::MostWaiters most{what_.max_waiters, places_of_tenant(what_)};
  const Result<int64_t> ticket = env_.ledger.queue().enter(waiter, most);
  if (!ticket.ok() && ticket.error().code() == Code::kBusy) return full_queue(most.of_all);
  if (!ticket.ok() && ticket.error().code() == Code::kDenied)
    return full_for_tenant(what_.tenant, most.of_tenant);
  ticket_ = TRY(ticket);
  return {};
}

Status Turn::enter_fleet() {
  if (!place_ || place_->is_in_line()) return {};
  ledger::Waiter waiter = as_waiter();
  waiter.ticket = ticket_;
  waiter.user = what_.user >= 0 ? what_.user : ledger::user_who_logged_in();
  waiter.until_ms = waiter.since_ms + what_.time.count();
  return place_->enter(waiter);
}

Status Turn::join(const Deadline& patience) {
  LedgerWatch watch = TRY(LedgerWatch::start(env_));
  if (ticket_ == 0) TRY(enter());
  for (;;) {
    const Status entered = enter_fleet();
    const Result<std::vector<ledger::Waiter>> looked =
        entered.ok() ? ahead() : Result<std::vector<ledger::Waiter>>(entered.error());
    if (!looked.ok()) {
      if (!place_ || is_cancelled_) return looked.error();
      TRY(outlast_silence(looked.error(), patience));
      continue;
    }
    const std::vector<ledger::Waiter>& ahead_now = looked.value();
    if (ahead_now.empty()) {
      pin();
      return {};
    }
    if (may_pass(ahead_now.front())) return {};
    if (patience.passed()) {
      return Error(Code::kBusy,
                   str("waited ", what_.time.count() / 1000, " s for ", wanted_text(what_),
                       ", but ", queue_text(env_, ahead_now), kept_text(what_, ahead_now.front()),
                       "; wait longer with ", what_.option, " or see 'ipuctl queue'"));
    }
    if (!place_) {
      TRY(watch.wait(kDeadTime, patience));
      continue;
    }
    TRY(env_.still_wanted());
    TRY(outlast_wait(place_->wait(patience), patience));
  }
}

Status Turn::resize(uint32_t ipus) {
  if (std::exchange(what_.ipus, ipus) == ipus || ticket_ == 0) return {};
  if (place_) TRY(place_->resize(ipus));
  return env_.ledger.queue().resize(ticket_, ipus);
}

Status Turn::finish() {
  const bool is_told = place_ && place_->leave_served() == fleet::Left::kCancelled;
  if (ticket_ != 0) {
    // If this fails, the place is void when the process ends.
    const Result<base::Removed> left = env_.ledger.queue().leave(std::exchange(ticket_, 0));
    is_cancelled_ = left.ok() && left.value() == base::Removed::kWasAbsent;
  }
  is_cancelled_ = is_cancelled_ || is_told;
  own_pin_.reset();
  if (is_cancelled_) return cancelled(what_);
  return {};
}

void Turn::end() {
  if (place_) place_->leave();
  // If this fails, the place is void when the process ends.
  if (ticket_ != 0) (void)env_.ledger.queue().leave(ticket_);
  ticket_ = 0;
  own_pin_.reset();
}

}  // namespace hook::lifecycle
