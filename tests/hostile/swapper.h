// SPDX-License-Identifier: Apache-2.0
// A thread that exchanges places of an image while its container starts.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "tests/hostile/image.h"

namespace hostile {

class Swapper {
 public:
  Swapper(const std::vector<Swap>& swaps, uint64_t seed);
  Swapper(const Swapper&) = delete;
  Swapper& operator=(const Swapper&) = delete;
  ~Swapper() { (void)end(); }

  // Ends the thread. Returns how many exchanges it made.
  uint64_t end();

 private:
  std::atomic<bool> ends_ = false;
  uint64_t made_ = 0;
  std::thread thread_;
};

}  // namespace hostile
