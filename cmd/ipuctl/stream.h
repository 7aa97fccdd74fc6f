// SPDX-License-Identifier: Apache-2.0
// The standard output of a command that writes events until it is stopped.
#pragma once

#include <chrono>
#include <string_view>

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
  // Waits for TIME, until the stream ends, or until FD (-1: none) is readable.
  base::Result<Goes> pause(std::chrono::milliseconds time, int fd = -1);

 private:
  explicit Stream(base::Fd signals) : signals_(std::move(signals)) {}
  enum class Until { kTimePasses, kWritable };
  base::Result<Goes> wait(Until until, int time_ms, int fd = -1);
  base::Fd signals_;
};

}  // namespace ipuctl
