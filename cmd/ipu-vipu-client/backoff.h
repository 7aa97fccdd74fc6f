// SPDX-License-Identifier: Apache-2.0
// Backoff: the pauses between two looks at something that takes its time.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace client {

// 5 ms at first, because a simulated or an idle controller is that quick; then twice as long each
// time, to 200 ms, because a real one takes seconds.
class Backoff {
 public:
  void sleep(const base::Deadline& deadline) {
    base::sleep_for(pause_, deadline);
    pause_ = std::min(2 * pause_, std::chrono::milliseconds(200));
  }

 private:
  std::chrono::milliseconds pause_{5};
};

}  // namespace client
