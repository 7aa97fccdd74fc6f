// SPDX-License-Identifier: Apache-2.0
// The table [log] of the configuration, and the start of a program's log by it.
#pragma once

#include <optional>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "hook/config/paths.h"

namespace hook::config {

class Section;

struct LogConfig {
  std::optional<base::LogLevel> level = {};  // unset: nothing is logged
  std::string file = log_file();
};

base::Result<LogConfig> read_log(const Section& section);

// Returns FILE's table [log]; the rest of the file may be invalid. A file that others can change
// counts as absent.
[[nodiscard]] LogConfig load_log(const std::string& file);

// Returns whether this process has IPU_DEBUG=1 in its environment, which is root's: nothing of a
// container's environment is in it.
[[nodiscard]] bool asks_to_debug();

// Starts the log and the trace of this process. LOG says what it logs; one that IS_DEBUGGED logs
// everything.
void start_log(const char* program, const LogConfig& log, bool is_debugged = asks_to_debug());

}  // namespace hook::config
