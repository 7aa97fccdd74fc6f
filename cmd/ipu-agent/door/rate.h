// SPDX-License-Identifier: Apache-2.0
// How often a user may ask: a token bucket.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace agent {

class Rate {
 public:
  using Clock = std::chrono::steady_clock;

  // MOST at once, and one more after each PAUSE.
  Rate(uint32_t most, Clock::duration pause) : most_(most), pause_(pause), left_(most) {}

  // Returns whether one more is allowed at NOW, and takes it.
  bool take(Clock::time_point now = Clock::now()) {
    refill(now);
    if (left_ == 0) return false;
    --left_;
    return true;
  }
  [[nodiscard]] bool is_full(Clock::time_point now = Clock::now()) const {
    return left_ + static_cast<uint64_t>((now - since_) / pause_) >= most_;
  }

 private:
  void refill(Clock::time_point now) {
    const auto more = static_cast<uint64_t>((now - since_) / pause_);
    left_ = static_cast<uint32_t>(std::min<uint64_t>(most_, left_ + more));
    since_ = left_ == most_ ? now : since_ + pause_ * static_cast<int64_t>(more);
  }

  uint32_t most_;
  Clock::duration pause_;
  uint32_t left_;
  Clock::time_point since_ = Clock::now();
};

}  // namespace agent
