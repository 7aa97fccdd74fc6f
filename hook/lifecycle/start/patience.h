// SPDX-License-Identifier: Apache-2.0
// How a start waits for what others hold, and when it gives up. The steps of a start that may find
// something taken (its lease, its partition, its IPUs in the ledger) share this one loop:
//
//   for (;;) {
//     attempt; leave unless something was taken
//     if (TRY(patience.wait()) == Next::kGiveUp) leave with what the attempt said
//   }
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/ledger/lease.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "hook/lifecycle/queue_turn.h"

namespace hook::lifecycle::start {

// A start waits this long for releases under way, even if the request does not wait: what is being
// released is as good as free.
inline constexpr std::chrono::milliseconds kReleaseGrace{5000};

enum class Next { kTryAgain, kGiveUp };

class Patience {
 public:
  // The patience of a request for IPUs of POOL: it queues in TURN until UNTIL. Its grace for
  // releases under way begins now.
  static base::Result<Patience> of_request(Env& env, const std::string& pool, Turn& turn,
                                           const base::Deadline& until,
                                           std::chrono::milliseconds grace = kReleaseGrace);
  // The patience of a step that must not queue, because it has its partition: until UNTIL, and for
  // its grace, it waits while a lease that is being released still holds one of IPUS. A release
  // that failed counts too, and each attempt here tries it again.
  static base::Result<Patience> for_ipus(Env& env, const std::string& pool,
                                         std::vector<ledger::LeasedIpu> ipus,
                                         const base::Deadline& until,
                                         std::chrono::milliseconds grace = kReleaseGrace);

  // Called after each attempt that found something taken.
  // - Until the request's time is over: waits until the request is first in its queue, then for a
  //   change of the ledger, at most 1 s, because other hosts free IPUs without changing this
  //   ledger. Releases what dead containers hold; a failure of that does not end the wait. Then
  //   kTryAgain.
  // - Later: kTryAgain at once if dead containers held something that is released now; kTryAgain
  //   after a wait while another process releases something of the pool, until the grace is over;
  //   kTryAgain once if the ledger has changed since the last look, because the release may have
  //   ended in between; else kGiveUp.
  // Fails with kBusy if the request's time ends in the queue, and with the error of
  // Env::still_wanted if nobody waits for the container any more.
  base::Result<Next> wait();

 private:
  Patience(Env& env, std::string pool, Turn* turn, const base::Deadline& until,
           std::chrono::milliseconds grace, LedgerWatch watch);
  base::Result<Next> wait_for_releases();
  base::Result<bool> is_releasing() const;
  base::Result<bool> is_releasing_ipus() const;
  Env& env_;
  std::string pool_;
  Turn* turn_;  // null: it never queues, and waits for ipus_
  std::vector<ledger::LeasedIpu> ipus_ = {};
  base::Deadline until_;
  base::Deadline grace_;
  LedgerWatch watch_;
  bool looked_again_ = false;  // a busy ledger changes all the time: one attempt for its news
};

// The longest time between two looks for a controller that is away.
inline constexpr std::chrono::milliseconds kAwayTime{1000};

// Records at once that LEASE waits for its controller, which failed with ERROR. A ledger that
// cannot record it ends no wait.
void tell_wait(Env& env, const ledger::Lease& lease, const base::Error& error);

// Returns what ASK returns. While the controller is away, it asks again until UNTIL, which has
// passed for a request that does not wait, and the history of LEASE says why it waits. ASK may be
// called any number of times. Fails if the wait is cancelled. IS_AWAY says which errors mean that
// the controller is away: by default, that it refuses connections or does not answer.
template <typename Ask>
auto outlast(Env& env, const ledger::Lease& lease, const base::Deadline& until, const Ask& ask,
             bool (*is_away)(const base::Error&) = partitions::is_silence) -> decltype(ask()) {
  LedgerWatch watch = TRY(LedgerWatch::start(env));
  for (bool is_told = false;;) {
    auto answer = ask();
    if (answer.ok() || !is_away(answer.error()) || until.passed()) return answer;
    if (!std::exchange(is_told, true)) tell_wait(env, lease, answer.error());
    TRY(watch.wait(kAwayTime, until));
    TRY(env.ledger.queue().check_wanted(lease.id));
  }
}

}  // namespace hook::lifecycle::start
