// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/grant.h"

#include <optional>
#include <utility>

#include "base/names.h"
#include "base/text.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "hook/lifecycle/partitions/warm.h"
#include "hook/lifecycle/recording.h"
#include "hook/lifecycle/start/named_grant.h"
#include "hook/lifecycle/start/patience.h"
#include "hook/lifecycle/start/shortage_text.h"
#include "hook/lifecycle/start/walls.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;
using std::chrono::milliseconds;

constexpr milliseconds kLookTime{2000};  // for a controller after a timeout
constexpr milliseconds kUndoTime{5000};
constexpr milliseconds kLastAttempt{5000};  // after the end of the wait

Result<vipu::PartitionRequest> partition_request(vipu::Controller& controller,
                                                 const GrantRequest& what,
                                                 const ledger::Lease& lease,
                                                 const Deadline& deadline) {
  vipu::PartitionRequest partition;
  partition.id = lease.partition;
  partition.size = what.request.ipus;
  partition.reconfigurable = what.request.reconfigurable;
  partition.allocation = what.wall.allocation;
  partition.cluster = what.pool.cluster;
  std::vector<uint32_t> cards = what.request.cards;
  if (what.request.all_cards) {
    for (const vipu::IpuAttributes& card : TRY(controller.attributes({}, deadline))) {
      cards.push_back(card.ipu);
    }
  }
  for (const uint32_t card : cards) partition.ipus.push_back({{0, card}, 0, 0});
  if (!cards.empty()) partition.size = static_cast<uint32_t>(cards.size());
  partition.pinned = what.turn.pinned();
  return partition;
}

// Takes a warm partition, which is clean and ACTIVE. One that is no longer ACTIVE, or is in another
// allocation than its tenant's, is replaced by a new one of the same name.
Result<vipu::Grant> use_warm(vipu::Controller& controller, const GrantRequest& what,
                             const ledger::Lease& lease) {
  const auto deadline = Deadline::after(what.pool.timeout);
  // It may be RESETTING at the moment, by itself.
  Result<vipu::Grant> grant = controller.wait(lease.partition, deadline);
  const Status usable = grant.ok()
                            ? check_new_partition(controller, what.wall, lease.partition, deadline)
                            : Status(grant.error());
  if (usable.ok()) return grant;
  if (partitions::is_silence(usable.error())) return usable.error();
  TRY(controller.remove(lease.partition, vipu::Force::kYes, deadline));
  const vipu::PartitionRequest partition =
      TRY(partition_request(controller, what, lease, deadline));
  grant = controller.create(partition, deadline);
  if (grant.ok()) TRY(check_new_partition(controller, what.wall, lease.partition, deadline));
  return grant;
}

std::string_view advice_for(const GrantRequest& what) {
  return what.request.wait.count() == 0 ? "wait with IPU_WAIT=60s or see 'ipuctl ps'" : kAfterWait;
}

Result<config::Wall> find_wall(const GrantRequest& what,
                               const std::vector<config::TenantConfig>& of_fleet,
                               const ledger::Lease& lease) {
  return config::find_wall(what.pool, what.config.policy.tenants, of_fleet, lease.tenant);
}

bool is_kept_warm(const GrantRequest& what) {
  return what.pool.warm.contains(what.request.ipus) && !what.request.reconfigurable;
}

// The IPUs of a warm partition may be pinned for a request that this one passes: they are given
// back for that one alone.
bool may_be_warm(const GrantRequest& what) { return is_kept_warm(what) && !what.turn.pinned(); }

// What is known of the partition that a request asks for.
struct Asked {
  uint32_t times = 0;          // how often, this attempt included
  bool may_exist = false;      // the answer to the last attempt was lost
  bool was_ever_lost = false;  // an attempt whose answer was lost may still be carried out
  bool was_submitted = false;
  bool is_told = false;    // the history says that it waits for its controller
  bool came_late = false;  // the last attempt gave its IPUs back: see Turn::confirm
};

// Notes what a create or submit that failed with ERROR leaves, and returns the error to report.
Error note_failure(const Error& error, Asked& asked) {
  // The name is ours alone: if it is taken, an earlier attempt has been carried out.
  const bool is_ours = error.code() == Code::kExists && asked.times > 1;
  asked.may_exist = is_ours || (error.code() != Code::kBusy && !vipu::made_nothing(error));
  asked.was_ever_lost = asked.was_ever_lost || asked.may_exist;
  return is_ours ? Error(Code::kTimeout, error.message()) : error;
}

// Gives a new partition back if its IPUs may have been pinned for another request meanwhile.
Status confirm_turn(vipu::Controller& controller, const GrantRequest& what, const std::string& id,
                    Asked& asked, const Deadline& deadline) {
  const std::optional<vipu::Block> before = what.turn.pinned();
  const Status confirmed = what.turn.confirm();
  if (confirmed.ok()) return {};
  const Result<base::Removed> removed = controller.remove(id, vipu::Force::kYes, deadline);
  // One that was absent may be listed a moment later.
  asked.may_exist = !removed.ok() || removed.value() == base::Removed::kWasAbsent;
  asked.was_ever_lost = asked.was_ever_lost || asked.may_exist;
  TRY(removed);
  // Otherwise somebody took its place in the queue away, and it gives up.
  asked.came_late = what.turn.pinned() != before;
  return confirmed;
}

// After a timeout, a new partition may be what did not become ACTIVE.
bool is_unreachable(const Error& error) { return error.code() == Code::kUnavailable; }

// Asks the controller for a partition. A request that waits ends its turn before its partition
// becomes ACTIVE, which may take minutes. A request that does not wait delays nobody and asks in
// one call, unless another one could pin its IPUs in these minutes.
Result<vipu::Grant> ask_for(Env& env, vipu::Controller& controller, const GrantRequest& what,
                            const ledger::Lease& lease, const vipu::PartitionRequest& partition,
                            Asked& asked, const Deadline& until, const Deadline& deadline) {
  if (asked.may_exist) {
    TRY(controller.remove(partition.id, vipu::Force::kYes, deadline));
    asked.may_exist = false;
  }
  const bool may_be_pinned = what.pool.backfill && what.pool.provider == config::Provider::kVipu;
  const bool waits = what.request.wait.count() != 0;
  if (!waits && !may_be_pinned) {
    Result<vipu::Grant> grant = controller.create(partition, deadline);
    if (!grant.ok()) return note_failure(grant.error(), asked);
    TRY(confirm_turn(controller, what, partition.id, asked, deadline));
    return grant;
  }
  const Status submitted = controller.submit(partition, deadline);
  if (!submitted.ok()) return note_failure(submitted.error(), asked);
  TRY(confirm_turn(controller, what, partition.id, asked, deadline));
  asked.was_submitted = true;
  TRY(what.turn.finish());
  Result<vipu::Grant> grant = outlast(
      env, lease, until,
      [&] {
        return controller.wait(partition.id, waits ? Deadline::after(what.pool.timeout) : deadline);
      },
      is_unreachable);
  if (grant.ok()) return grant;
  // The partition was made: the code must not mean that it was not, or that there was no room.
  return Error(grant.error().code() == Code::kTimeout ? Code::kTimeout : Code::kInternal,
               grant.error().message());
}

// Returns whether a request still waits for a controller that failed with ERROR.
bool waits_for_controller(const GrantRequest& what, const Error& error, const Deadline& until) {
  return partitions::is_silence(error) && what.request.wait.count() != 0 && !until.passed();
}

// Waits without a place in the queue: the partition is there already.
Result<vipu::Grant> wait_for_warm(Env& env, const GrantRequest& what, const ledger::Lease& lease,
                                  const Deadline& until) {
  LedgerWatch watch = TRY(LedgerWatch::start(env));
  for (bool is_told = false;;) {
    TRY(env.ledger.queue().check_wanted(lease.id));
    const auto controller = record_answers(env.ledger, lease.id, env.controller(what.pool),
                                           is_told ? Noted::kSuccess : Noted::kAll);
    Result<vipu::Grant> grant = use_warm(*controller, what, lease);
    if (grant.ok() || !waits_for_controller(what, grant.error(), until)) return grant;
    if (!std::exchange(is_told, true)) tell_wait(env, lease, grant.error());
    TRY(watch.wait(kAwayTime, until));
  }
}

// Records in the fleet's books that LEASE has its IPUs. It may get a warm partition with that,
// unless the controller may still make the one that it was asked for.
Status claim(GrantRequest& what, const ledger::Lease& lease, const Asked& asked) {
  fleet::WarmKind kind = fleet::warm_kind(what.pool, what.request.ipus);
  const bool takes_warm = is_kept_warm(what) && !asked.was_ever_lost;
  using Kind = const fleet::WarmKind*;
  return what.turn.claim(lease, [&](const auto& of_fleet) -> Result<Kind> {
    what.wall = TRY(find_wall(what, of_fleet, lease));
    kind.allocation = what.wall.allocation;
    return takes_warm && !what.turn.pinned() ? &kind : nullptr;
  });
}

// Reads the new partition of LEASE back. Without an answer, it may be outside of the wall.
Status check_wall(Env& env, vipu::Controller& controller, const GrantRequest& what,
                  const ledger::Lease& lease, const Deadline& until) {
  const Status inside = outlast(
      env, lease, until,
      [&] {
        return check_new_partition(controller, what.wall, lease.partition,
                                   Deadline::after(what.pool.timeout));
      },
      is_unreachable);
  if (inside.ok()) return {};
  // The partition was made: the code must not mean that it was not, or that there was no room.
  const Error& error = inside.error();
  return Error(error.code() == Code::kTimeout ? Code::kTimeout : Code::kInternal, error.message());
}

// Uses the warm partition that the fleet has given to LEASE. Its grant names it, so a crash before
// the ledger does leaves nothing.
Result<vipu::Grant> use_given(Env& env, const GrantRequest& what, ledger::Lease& lease,
                              const Deadline& until) {
  TRY(env.ledger.take_warm(lease, what.turn.taken()));
  TRY(what.turn.finish());
  return wait_for_warm(env, what, lease, until);
}

// What the controller may have made while another request waits may have pinned IPUs: it goes
// before this request waits again. One that is absent may be listed a moment later.
Status undo_passing(Env& env, vipu::Controller& controller, const ledger::Lease& lease,
                    Asked& asked, const Deadline& until) {
  const Deadline listing = Deadline::after(kLookTime);
  for (;;) {
    const Result<base::Removed> removed =
        controller.remove(lease.partition, vipu::Force::kYes, Deadline::after(kUndoTime));
    asked.may_exist = !removed.ok();
    const bool is_absent = removed.ok() && removed.value() == base::Removed::kWasAbsent;
    if (removed.ok() && (!is_absent || listing.passed())) return {};
    if (!removed.ok() && until.passed()) return removed.error();
    TRY(env.ledger.queue().check_wanted(lease.id));
    TRY(env.still_wanted());
    base::sleep_for(kAwayTime, is_absent ? listing : until);
  }
}

// Returns nothing if the request is to be tried again.
Result<std::optional<vipu::Grant>> attempt(Env& env, GrantRequest& what, ledger::Lease& lease,
                                           const Deadline& until, const Deadline& last,
                                           Asked& asked, Patience& patience) {
  using Granted = std::optional<vipu::Grant>;
  TRY(env.ledger.queue().check_wanted(lease.id));
  const std::unique_ptr<vipu::Controller> controller =
      record_answers(env.ledger, lease.id, env.controller(what.pool),
                     asked.times == 0 ? Noted::kAll : Noted::kSuccess);
  ++asked.times;
  const Deadline deadline = last.capped(what.pool.timeout);
  const Status claimed = claim(what, lease, asked);
  if (claimed.ok() && !what.turn.taken().empty())
    return Granted(TRY(use_given(env, what, lease, until)));
  const vipu::PartitionRequest partition =
      TRY(partition_request(*controller, what, lease, deadline));
  Result<vipu::Grant> grant =
      claimed.ok() ? ask_for(env, *controller, what, lease, partition, asked, until, deadline)
                   : Result<vipu::Grant>(claimed.error());
  if (grant.ok()) TRY(check_wall(env, *controller, what, lease, until));
  if (grant.ok()) return Granted(std::move(grant).take());
  if (asked.was_submitted) return grant.error();
  if (std::exchange(asked.came_late, false)) {
    if (asked.may_exist) TRY(undo_passing(env, *controller, lease, asked, until));
    if (!asked.may_exist) what.turn.unclaim();  // the next claim is beside what is pinned now
    return Granted();
  }
  if (claimed.ok()) what.turn.got_nothing();
  if (asked.may_exist && what.turn.pinned())
    TRY(undo_passing(env, *controller, lease, asked, until));
  Error error = claimed.ok() ? refused_within(what.wall, grant.error()) : grant.error();
  if (what.turn.is_cancelled()) return error;
  if (error.code() == Code::kBusy && what.turn.is_behind()) {
    if (TRY(patience.wait()) == Next::kTryAgain) return Granted();
    return error;
  }
  if (error.code() == Code::kBusy) {
    what.turn.unclaim();  // while it waits, others may have what it would count
    const Result<partitions::GivenBack> given =
        what.turn.pinned() ? Result<partitions::GivenBack>(partitions::GivenBack::kNone)
                           : partitions::give_back_warm(env, what.pool, what.wall.allocation,
                                                        what.request.ipus, deadline);
    if (given.ok() && given.value() == partitions::GivenBack::kSome) return Granted();
    if (given.ok()) {
      if (TRY(patience.wait()) == Next::kTryAgain) return Granted();
      return no_capacity(
          env, {what.pool, what.request.ipus, advice_for(what), wall_text(what.wall)}, error);
    }
    error = given.error();
  }
  if (!waits_for_controller(what, error, until)) return error;
  if (!std::exchange(asked.is_told, true)) tell_wait(env, lease, error);
  if (TRY(patience.wait()) == Next::kTryAgain) return Granted();
  return error;
}

Result<vipu::Grant> make_partition(Env& env, GrantRequest& what, ledger::Lease& lease,
                                   const Deadline& until) {
  Patience patience = TRY(Patience::of_request(env, what.pool.name, what.turn, until));
  const bool waits = what.request.wait.count() != 0;
  const Deadline last = Deadline::after(waits ? until.left() + kLastAttempt : what.pool.timeout);
  const auto start = std::chrono::steady_clock::now();
  for (Asked asked;;) {
    Result<std::optional<vipu::Grant>> grant =
        attempt(env, what, lease, until, last, asked, patience);
    if (grant.ok() && !grant.value()) continue;
    if (asked.times > 1) {
      const std::string time = time_text(std::chrono::steady_clock::now() - start);
      env.ledger.note(lease.id, ledger::EventKind::kNote,
                      str(grant.ok() ? "got its IPUs" : "gave up", " after ", time,
                          ", in which it asked ", asked.times, " times"));
    }
    if (grant.ok()) return *std::move(grant).take();
    // The code must not mean that the controller has nothing of ours.
    const Error& error = grant.error();
    const bool promises = vipu::made_nothing(error) || error.code() == Code::kBusy;
    if (!asked.was_ever_lost || !promises) return error;
    return Error(Code::kInternal, error.message());
  }
}

Result<vipu::Grant> new_grant(Env& env, GrantRequest& what, ledger::Lease& lease,
                              const Deadline& until) {
  what.wall = TRY(find_wall(what, {}, lease));
  if (!may_be_warm(what)) return make_partition(env, what, lease, until);
  // In a fleet, a warm one comes with the claim. Those of this host are in the pool's allocation.
  const bool may_take = !what.turn.is_in_fleet() && what.wall.allocation == what.pool.allocation;
  const ledger::Ledger::Taken taken =
      may_take ? TRY(env.ledger.take_warm(lease)) : ledger::Ledger::Taken::kNone;
  Result<vipu::Grant> grant = taken == ledger::Ledger::Taken::kYes
                                  ? wait_for_warm(env, what, lease, until)
                                  : make_partition(env, what, lease, until);
  if (grant.ok()) env.start_refill(what.pool.name);
  return grant;
}

// Returns whether CONTROLLER, after a timeout, is there.
bool answers(vipu::Controller& controller) {
  const Result<std::string> version = controller.version(Deadline::after(kLookTime));
  return version.ok() || !partitions::is_silence(version.error());
}

}  // namespace

uint32_t ipus_of(const request::Request& request) {
  return request.ipus != 0 ? request.ipus : static_cast<uint32_t>(request.cards.size());
}

Result<vipu::Grant> obtain_grant(Env& env, GrantRequest what, ledger::Lease& lease,
                                 const Deadline& until) {
  if (lease.origin == ledger::Origin::kOwn) {
    Result<vipu::Grant> grant = new_grant(env, what, lease, until);
    if (!grant.ok() && vipu::made_nothing(grant.error())) what.turn.unclaim();
    return grant;
  }
  const std::unique_ptr<vipu::Controller> controller =
      record_answers(env.ledger, lease.id, recorded_controller(env, lease.pool, lease.controller));
  int late = 0;  // attempts that a controller which is there let time out
  return outlast(env, lease, until, [&] {
    Result<vipu::Grant> grant = named_grant(env, *controller, what, lease, until);
    const bool is_late = !grant.ok() && grant.error().code() == Code::kTimeout;
    if (!is_late || !answers(*controller)) return grant;
    // Once it may have come back just now. After that, each attempt would only reset the partition.
    if (++late == 1) return grant;
    return Result<vipu::Grant>(Error(Code::kInternal, grant.error().message()));
  });
}

}  // namespace hook::lifecycle::start
