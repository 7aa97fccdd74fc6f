// SPDX-License-Identifier: Apache-2.0
// When a call is tried again.
#pragma once

#include <grpcpp/support/status.h>

#include <chrono>
#include <optional>

#include "base/clock.h"
#include "cmd/ipu-vipu-client/backoff.h"
#include "cmd/ipu-vipu-client/status.h"

namespace client {

// What became of a request, as far as its status tells.
enum class Fate {
  kDone,
  kRefused,  // the controller decided against it: trying again cannot help
  kUndone,   // the controller gave way to another request: trying again may help
  kUnknown   // lost before or after it was carried out, or the answer was garbage
};
Fate fate_of(const grpc::Status& status);

// The attempts of one call. A controller that was not reached before and is not there is waited for
// for a second: somebody waits to hear that it is down. One that was there a moment ago
// may be restarting, and is waited for until the deadline.
class Retry {
 public:
  explicit Retry(const base::Deadline& deadline) : deadline_(deadline) {}

  // Whether to try again after STATUS: slept for a while, if so.
  bool again(const grpc::Status& status, Reached reached);

 private:
  bool is_worth_it(const grpc::Status& status, Reached reached);

  base::Deadline deadline_;
  std::optional<base::Deadline> reachable_by_;  // set while it cannot be reached
  int failures_ = 0;                            // other than those of the network
  Backoff backoff_{std::chrono::milliseconds(20), std::chrono::milliseconds(250)};
};

}  // namespace client
