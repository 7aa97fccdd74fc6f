// SPDX-License-Identifier: Apache-2.0
// The log of this process: one line for each step, so that people see where time went, or where it
// ended. A process has one log, as it has one standard error.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace base {

enum class LogLevel { kError, kWarning, kInfo, kDebug };
[[nodiscard]] std::string_view name_of(LogLevel level);  // "error", "warning", "info", "debug"
[[nodiscard]] std::optional<LogLevel> find_log_level(std::string_view name);

// The size in bytes from which on a log becomes FILE.1, instead of the one before.
inline constexpr size_t kMaxLog = 16 << 20;

// From now on, this process logs its steps of LEVEL, and those that matter more, in FILE
// (absolute). PROGRAM must stay valid. A line is "TIME LEVEL PROGRAM PID ID MS WHAT": MS is the
// time since the line before of this process, or since this call; ID is that of a container or a
// lease, or "-". The file is opened for each line, so the log goes on in children too, whatever
// they close.
void start_log(const char* program, LogLevel level, const std::string& file);

// The ID of steps that name none. For a child that works for another container.
void log_for(std::string_view id);

// Keeps the step for the trace (trace.h), and appends a line. Without a log of this level it does
// nothing, and a failure is not reported: no work fails for its log. Removes what is unsafe in
// lines from WHAT, and cuts it.
void log_step(LogLevel level, std::string_view what, std::string_view id = "");

// Returns why nothing can be written to the log FILE: its directory, or the file itself, can be
// changed by others than root; it is a link or no plain file. Makes an absent file, with mode 0600.
Status check_log(const std::string& file);

// Notes a wait for a lock that takes more than 10 ms, at level warning, when it is over.
class LockWait {
 public:
  // WHAT must stay valid.
  explicit LockWait(std::string_view what) : what_(what) {}
  LockWait(const LockWait&) = delete;
  LockWait& operator=(const LockWait&) = delete;
  ~LockWait();

 private:
  std::string_view what_;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

}  // namespace base
