// SPDX-License-Identifier: Apache-2.0
// The table [monitor] of the configuration: a program of the site that says how busy IPUs are.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace hook::config {

class Section;

struct MonitorConfig {
  std::vector<std::string> command;            // an absolute path, and its arguments
  std::chrono::milliseconds interval{60'000};  // between two samples
  std::chrono::milliseconds timeout{10'000};   // of the command; at most INTERVAL
  bool operator==(const MonitorConfig&) const = default;
};

base::Result<MonitorConfig> read_monitor(const Section& section);

}  // namespace hook::config
