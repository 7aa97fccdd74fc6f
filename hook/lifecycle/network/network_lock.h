// SPDX-License-Identifier: Apache-2.0
// One at a time in a network namespace that containers share: to attach, to give back.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"

namespace hook::lifecycle::network {

// Held by this object, and given back when it or its process ends.
class NetworkLock {
 public:
  // The lock of the namespace with this cookie (netns::Identity). One file of RUN_DIR serves all: a
  // byte range each. kTimeout if another process holds it until DEADLINE.
  static base::Result<NetworkLock> take(const std::string& run_dir, uint64_t cookie,
                                        const base::Deadline& deadline);

 private:
  explicit NetworkLock(base::Fd file) : file_(std::move(file)) {}
  base::Fd file_;
};

}  // namespace hook::lifecycle::network
