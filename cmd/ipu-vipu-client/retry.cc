// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-vipu-client/retry.h"

namespace client {
namespace {

// Three calls on a dead controller must end within 5 s, each after several attempts.
constexpr std::chrono::milliseconds kReachable(1000);
// The most attempts that may end in an error of the controller's own or in garbage. More of them
// rarely help.
constexpr int kMaxFailures = 5;

}  // namespace

Fate fate_of(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::OK:
      return Fate::kDone;
    case grpc::StatusCode::ABORTED:
      return Fate::kUndone;
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::DATA_LOSS:
      return Fate::kUnknown;
    default:
      return Fate::kRefused;
  }
}

bool Retry::again(const grpc::Status& status, Reached reached) {
  if (!is_worth_it(status, reached)) return false;
  backoff_.sleep(deadline_);
  return !deadline_.passed();
}

bool Retry::is_worth_it(const grpc::Status& status, Reached reached) {
  const Fate fate = fate_of(status);
  if (fate == Fate::kDone || fate == Fate::kRefused) return false;
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) return true;
  if (status.error_code() != grpc::StatusCode::UNAVAILABLE) return ++failures_ < kMaxFailures;
  if (reached == Reached::kYes) return true;
  if (!reachable_by_) reachable_by_ = base::Deadline::after(kReachable);
  return !reachable_by_->passed();
}

}  // namespace client
