// SPDX-License-Identifier: Apache-2.0
// --watch: a list that is shown again and again until somebody ends it.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/result.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/screen/screen.h"

namespace ipuctl {

// Parses the value of --watch, in seconds; empty: the default.
base::Result<std::chrono::seconds> parse_watch(const std::string& text);

// Returns what COMMAND is by the options that APP was told: itself, or one that repeats it. The
// latter redraws a terminal in place; elsewhere it prints one snapshot after the other. It ends the
// process, with status 0, at SIGINT, at SIGTERM, and when nobody reads it any more. It returns only
// the error of its first look.
[[nodiscard]] Command watched(const CLI::App& app, Command command);

// From here on, SIGINT, SIGTERM and SIGPIPE end the process with status 0, also while it waits for
// a controller. LAST, which must stay valid, is written to the terminal before; it may be empty.
// For a process that changes nothing.
void end_by_signals(std::string_view last);

// Returns the size of the terminal at standard output.
[[nodiscard]] screen::Size terminal_size();

}  // namespace ipuctl
