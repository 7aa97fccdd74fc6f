// SPDX-License-Identifier: Apache-2.0
// The rules for retrying a call.
#pragma once

#include <chrono>
#include <optional>

#include "base/clock.h"
#include "cmd/ipu-vipu-client/session/backoff.h"
#include "cmd/ipu-vipu-client/session/status.h"

namespace client {

// The outcome of a request, as far as its status shows.
enum class Fate {
  kDone,
  kRefused,  // the controller refused it: trying again cannot help
  kUndone,   // the controller preferred another request: trying again may help
  kUnknown   // lost before or after it was carried out, or the answer was garbage
};
Fate fate_of(const RpcStatus& status);

// The attempts of one call. If a controller was not reached before and is absent, retrying lasts
// one second, because the caller wants to know that it is down. A controller that was there a
// moment ago may be restarting, and gets until the deadline.
class Retry {
 public:
  explicit Retry(const base::Deadline& deadline) : deadline_(deadline) {}

  // Returns whether to try again after STATUS. If so, has already slept for a while.
  bool again(const RpcStatus& status, Reached reached);

 private:
  bool is_worth_it(const RpcStatus& status, Reached reached);

  base::Deadline deadline_;
  std::optional<base::Deadline> reachable_by_;  // set while it is unreachable
  int failures_ = 0;                            // not counting network failures
  Backoff backoff_{std::chrono::milliseconds(20), std::chrono::milliseconds(250)};
};

}  // namespace client
