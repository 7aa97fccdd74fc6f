// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-container-start/report.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"

namespace runtime {
namespace {

constexpr size_t kMaxMessage = 1000;

std::string log_line(const hook::passing::CommandLine& line, const std::string& message) {
  const std::string time = base::rfc3339(base::unix_millis());
  if (line.log_json) {
    return base::to_text({{"level", "error"}, {"msg", message}, {"time", time}}) + "\n";
  }
  // For printable text, Go's quoting of a logrus message agrees with JSON's.
  return base::str("time=\"", time, "\" level=error msg=", base::to_text(message), "\n");
}

// Returns whether LOG is a file. Standard error has the message anyway; "syslog:" and "journald:"
// are crun's names of other destinations.
bool is_file(std::string_view log) {
  return !log.empty() && log != "/dev/stderr" && !log.starts_with("syslog:") &&
         !log.starts_with("journald:");
}

}  // namespace

void report(const hook::passing::CommandLine& line, const base::Error& error) {
  const std::string message = base::one_line("ipu: " + error.message(), kMaxMessage);
  base::log_step(base::LogLevel::kError, message);
  (void)base::write_all(STDERR_FILENO, message + "\n", "standard error");
  if (!is_file(line.log)) return;
  const std::string path(line.log);
  const base::Result<base::Fd> log =
      base::open_at(AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK, 0644);
  if (log.ok()) (void)base::write_all(log.value().get(), log_line(line, message), path);
}

}  // namespace runtime
