// SPDX-License-Identifier: Apache-2.0
#include "hook/config/log.h"

#include <cstdlib>
#include <string_view>

#include "base/fs.h"
#include "base/names.h"
#include "base/trace.h"
#include "hook/config/section.h"

namespace hook::config {

using namespace base::names;
using base::LogLevel;

Result<LogConfig> read_log(const Section& section) {
  TRY(section.refuse_unknown({"level", "file"}));
  constexpr std::string_view kLevels = "\"error\", \"warning\", \"info\" or \"debug\"";
  constexpr std::string_view kPath =
      "an absolute path of a file, such as \"/var/log/ipu/debug.log\"";
  LogConfig log;
  const std::optional<std::string> level = TRY(section.find_text("level", kLevels));
  if (level) log.level = base::find_log_level(*level);
  if (level && !log.level) return section.wrong("level", kLevels);
  log.file = TRY(section.find_text("file", kPath)).value_or(log.file);
  if (!log.file.starts_with('/') || log.file.ends_with('/')) return section.wrong("file", kPath);
  return log;
}

LogConfig load_log(const std::string& file) {
  const auto find = [&]() -> Result<LogConfig> {
    const auto text = TRY(base::read_trusted_file(file, kMaxConfig));
    if (!text) return LogConfig();
    const Section root = TRY(Section::parse(*text, file));
    const std::optional<Section> section = TRY(root.find_table("log"));
    return section ? read_log(*section) : LogConfig();
  };
  const Result<LogConfig> found = find();
  return found.ok() ? found.value() : LogConfig();
}

bool asks_to_debug() {
  const char* const value = ::getenv("IPU_DEBUG");
  return value != nullptr && std::string_view(value) == "1";
}

void start_log(const char* program, const LogConfig& log, bool is_debugged) {
  base::trace_as(program);
  if (is_debugged) base::start_log(program, LogLevel::kDebug, log.file);
  if (!is_debugged && log.level) base::start_log(program, *log.level, log.file);
}

}  // namespace hook::config
