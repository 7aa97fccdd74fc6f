// SPDX-License-Identifier: Apache-2.0
// A lock on a network namespace that containers share: one process at a time attaches or removes
// interfaces there.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"

namespace hook::lifecycle::network {

// The lock is released when this object or its process ends.
class NetworkLock {
 public:
  // Takes the lock of the namespace with this cookie (netns::Identity). All locks are byte ranges
  // of one file in RUN_DIR. Fails with kTimeout if another process holds the lock until DEADLINE;
  // the error names that process, and says if it is stopped.
  static base::Result<NetworkLock> take(const std::string& run_dir, uint64_t cookie,
                                        const base::Deadline& deadline);

 private:
  explicit NetworkLock(base::Fd file) : file_(std::move(file)) {}
  base::Fd file_;
};

}  // namespace hook::lifecycle::network
