// SPDX-License-Identifier: Apache-2.0
// Standard output of a command that writes as things happen, until it is told to end.
#pragma once

#include <chrono>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace ipuctl {

class Stream {
 public:
  // From here on SIGINT and SIGTERM end the stream, and so does the end of its reader.
  static base::Result<Stream> open();

  enum class Goes { kOn, kEnd };
  // All of TEXT, at once. kEnd: the stream has ended, perhaps before all was written.
  base::Result<Goes> write(std::string_view text);
  // Waits for TIME, or until the stream ends.
  base::Result<Goes> pause(std::chrono::milliseconds time);

 private:
  explicit Stream(base::Fd signals) : signals_(std::move(signals)) {}
  enum class Until { kTimePasses, kWritable };
  base::Result<Goes> wait(Until until, int time_ms);
  base::Fd signals_;
};

}  // namespace ipuctl
