// SPDX-License-Identifier: Apache-2.0
// The queue for IPUs: who waits is served in order of arrival, over all processes of the host.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle {

struct WaitFor {
  std::string resource;  // a pool's name, or "pool/partition"
  std::string container;
  uint32_t ipus = 0;                  // 0: not told
  std::chrono::milliseconds time{0};  // 0: it does not wait
};

// The turn of one request. Whoever has it may take what the resource has left; those behind wait
// until it is over, so that a small request never overtakes a large one.
class Turn {
 public:
  // At once where nobody waits. Otherwise it queues until it is first, by PATIENCE; kBusy, with
  // what is ahead, if that is not reached, and at once for a request that does not wait.
  static base::Result<Turn> await(Env& env, WaitFor what, const base::Deadline& patience);

  // Takes a place in the queue, if it has none yet, and waits until it is first, by PATIENCE: for
  // what finds that nothing is left. Errors as above.
  base::Status join(const base::Deadline& patience);
  // It has what it wanted, or gives up: the next one is first.
  void end();

  Turn(Turn&& other) noexcept
      : env_(other.env_), what_(std::move(other.what_)), ticket_(std::exchange(other.ticket_, 0)) {}
  Turn& operator=(Turn&&) = delete;
  ~Turn() { end(); }

 private:
  Turn(Env& env, WaitFor what) : env_(env), what_(std::move(what)) {}
  base::Status enter();
  base::Result<std::vector<ledger::Waiter>> ahead();
  Env& env_;
  WaitFor what_;
  int64_t ticket_ = 0;  // 0: it has no place in the queue
};

// Who waits, in order of arrival. Places of processes that ended are given up.
base::Result<std::vector<ledger::Waiter>> waiting(Env& env);

enum class News { kNone, kSome };

// Sleeps until another process changed the ledger or LONGEST has passed, at most until DEADLINE.
class LedgerWatch {
 public:
  static base::Result<LedgerWatch> start(const Env& env);
  // The error of env.still_wanted, if it has one.
  base::Status wait(std::chrono::milliseconds longest, const base::Deadline& deadline);
  // Whether another process changed it since the start, or since one of these said so.
  base::Result<News> look();

 private:
  LedgerWatch(const Env& env, int64_t version) : env_(env), version_(version) {}
  const Env& env_;
  int64_t version_;
};

}  // namespace hook::lifecycle
