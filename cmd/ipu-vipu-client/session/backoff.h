// SPDX-License-Identifier: Apache-2.0
// Backoff: the pauses between two looks at a slow operation, or between two attempts.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>

#include "base/clock.h"

namespace client {

// A pause that doubles each time. Each is drawn from its upper half, so that many clients that
// started together do not return together.
class Backoff {
 public:
  using milliseconds = std::chrono::milliseconds;

  Backoff(milliseconds first, milliseconds longest) : pause_(first), longest_(longest) {}

  void sleep(const base::Deadline& deadline) {
    std::uniform_int_distribution<int64_t> upper_half((pause_.count() + 1) / 2, pause_.count());
    base::sleep_for(milliseconds(upper_half(random_)), deadline);
    pause_ = std::min(2 * pause_, longest_);
  }

 private:
  milliseconds pause_;
  milliseconds longest_;
  // Unsuitable for secrets: the clock only has to differ between clients.
  std::minstd_rand random_{static_cast<std::minstd_rand::result_type>(
      std::chrono::steady_clock::now().time_since_epoch().count())};
};

// How long the controller may show a partition otherwise than its last reply says.
inline constexpr std::chrono::milliseconds kSettleTime{2000};

// Returns the pauses between two looks at a partition: a simulated or an idle controller finishes
// within milliseconds, a real one takes seconds.
inline Backoff polling() { return {std::chrono::milliseconds(5), std::chrono::milliseconds(200)}; }

}  // namespace client
