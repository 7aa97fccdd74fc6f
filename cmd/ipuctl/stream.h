// SPDX-License-Identifier: Apache-2.0
// The standard output of a command that writes events until it is stopped.
#pragma once

#include <chrono>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace ipuctl {

class Stream {
 public:
  // Opens the stream. From here on, SIGINT, SIGTERM and the end of its reader end it.
  static base::Result<Stream> open();

  enum class Goes { kOn, kEnd };
  // Writes all of TEXT at once. kEnd: the stream has ended, perhaps before all was written.
  base::Result<Goes> write(std::string_view text);
  // Waits for TIME, until the stream ends, or until one of FDS is readable.
  base::Result<Goes> pause(std::chrono::milliseconds time, const std::vector<int>& fds = {});

 private:
  explicit Stream(base::Fd signals) : signals_(std::move(signals)) {}
  enum class Until { kTimePasses, kWritable };
  base::Result<Goes> wait(Until until, int time_ms, const std::vector<int>& fds = {});
  base::Fd signals_;
};

}  // namespace ipuctl
