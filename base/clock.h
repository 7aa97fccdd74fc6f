// SPDX-License-Identifier: Apache-2.0
// Time: deadlines on the monotonic clock, timestamps for people, and the identity of this boot.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace base {

// The moment by which something must be done. The clock is monotonic: a clock jump does not move
// it.
class Deadline {
 public:
  static Deadline after(std::chrono::milliseconds time) { return Deadline(now() + time); }

  // Returns the time left, never negative. The value fits poll(2) when cast to int.
  [[nodiscard]] std::chrono::milliseconds left() const;
  [[nodiscard]] bool passed() const { return left().count() == 0; }
  // Returns the earlier of this deadline and TIME from now.
  [[nodiscard]] Deadline capped(std::chrono::milliseconds time) const;

 private:
  using Clock = std::chrono::steady_clock;
  explicit Deadline(Clock::time_point at) : at_(at) {}
  static Clock::time_point now() { return Clock::now(); }
  Clock::time_point at_;
};

// Sleeps for TIME or until DEADLINE, whichever comes first.
void sleep_for(std::chrono::milliseconds time, const Deadline& deadline);

// Returns milliseconds since 1970 by the wall clock, for records that people read, never for
// waiting.
[[nodiscard]] int64_t unix_millis();
// A source of wall-clock milliseconds, such as unix_millis.
using WallClock = std::function<int64_t()>;

// Returns UNIX_MILLIS as RFC 3339 in UTC with milliseconds: "2026-11-20T10:04:19.250Z".
[[nodiscard]] std::string rfc3339(int64_t unix_millis);

// Returns the kernel's random id of this boot, from /proc/sys/kernel/random/boot_id.
Result<std::string> boot_id();

}  // namespace base
