// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-vipu-client/session/retry.h"

namespace client {
namespace {

// Three calls on a dead controller must end within 5 s, each after several attempts.
constexpr std::chrono::milliseconds kReachable(1000);
// The most attempts that may end in an error of the controller's own or in garbage. More of them
// rarely help.
constexpr int kMaxFailures = 5;

}  // namespace

Fate fate_of(const RpcStatus& status) {
  switch (status.code) {
    case StatusCode::OK:
      return Fate::kDone;
    case StatusCode::ABORTED:
      return Fate::kUndone;
    case StatusCode::UNAVAILABLE:
    case StatusCode::DEADLINE_EXCEEDED:
    case StatusCode::CANCELLED:
    case StatusCode::UNKNOWN:
    case StatusCode::INTERNAL:
    case StatusCode::DATA_LOSS:
      return Fate::kUnknown;
    default:
      return Fate::kRefused;
  }
}

bool Retry::again(const RpcStatus& status, Reached reached) {
  if (!is_worth_it(status, reached)) return false;
  backoff_.sleep(deadline_);
  return !deadline_.passed();
}

bool Retry::is_worth_it(const RpcStatus& status, Reached reached) {
  const Fate fate = fate_of(status);
  if (fate == Fate::kDone || fate == Fate::kRefused) return false;
  if (status.code == StatusCode::DEADLINE_EXCEEDED) return true;
  if (status.code != StatusCode::UNAVAILABLE) return ++failures_ < kMaxFailures;
  if (reached == Reached::kYes) return true;
  if (!reachable_by_) reachable_by_ = base::Deadline::after(kReachable);
  return !reachable_by_->passed();
}

}  // namespace client
