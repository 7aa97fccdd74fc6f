// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <thread>

#include "base/fs.h"
#include "base/text.h"

namespace base {

std::chrono::milliseconds Deadline::left() const {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - now());
  return std::max(left, std::chrono::milliseconds(0));
}

Deadline Deadline::capped(std::chrono::milliseconds time) const {
  return Deadline(std::min(at_, now() + time));
}

void sleep_for(std::chrono::milliseconds time, const Deadline& deadline) {
  std::this_thread::sleep_for(std::min(time, deadline.left()));
}

int64_t unix_millis() {
  using std::chrono::system_clock;
  const auto since = system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

std::string rfc3339(int64_t unix_millis) {
  const std::time_t seconds = unix_millis / 1000;
  std::tm utc{};
  (void)::gmtime_r(&seconds, &utc);
  char date[24];
  const size_t length = std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
  char millis[8];
  (void)std::snprintf(millis, sizeof millis, ".%03dZ", static_cast<int>(unix_millis % 1000));
  return std::string(date, length) + millis;
}

Result<std::string> boot_id() {
  const std::string text = TRY(read_file("/proc/sys/kernel/random/boot_id", 64));
  return std::string(trim(text));
}

}  // namespace base
