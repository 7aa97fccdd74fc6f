// SPDX-License-Identifier: Apache-2.0
#include "hook/config/monitor.h"

#include "base/names.h"
#include "hook/config/section.h"

namespace hook::config {

using namespace base::names;

Result<MonitorConfig> read_monitor(const Section& section) {
  constexpr std::string_view kCommand =
      "the absolute path of a program and its arguments, such as [\"/usr/local/bin/ipu-busy\"]";
  constexpr std::chrono::milliseconds kShortest{10'000};
  constexpr std::chrono::milliseconds kLongest{900'000};
  constexpr std::chrono::milliseconds kLongestTimeout{60'000};
  TRY(section.refuse_unknown({"command", "interval", "timeout"}));
  MonitorConfig monitor;
  monitor.command = TRY(section.find_texts("command", kCommand));
  const bool has_command = !monitor.command.empty() && monitor.command.front().starts_with('/');
  if (!has_command) return section.wrong("command", kCommand);
  monitor.interval = TRY(section.find_duration("interval", kLongest)).value_or(monitor.interval);
  if (monitor.interval < kShortest) return section.wrong("interval", "10s or longer");
  monitor.timeout =
      TRY(section.find_duration("timeout", kLongestTimeout)).value_or(monitor.timeout);
  const bool fits = monitor.timeout.count() > 0 && monitor.timeout <= monitor.interval;
  if (!fits) return section.wrong("timeout", "longer than 0 and at most 'interval'");
  return monitor;
}

}  // namespace hook::config
