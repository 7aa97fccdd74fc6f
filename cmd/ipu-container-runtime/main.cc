// SPDX-License-Identifier: Apache-2.0
// ipu-container-runtime stands before runc or crun. It is small, because it stands before every
// command on every container. What is none of our business goes to the low-level runtime as it is,
// by one execve. All else goes to ipu-container-start, as it is too.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fs.h"
#include "base/text.h"
#include "hook/config/paths.h"
#include "hook/container/oci/command_line.h"
#include "hook/plain/caller.h"
#include "hook/plain/plain.h"

namespace {

using hook::oci::CommandLine;

std::string choose_program(const CommandLine& line) {
  if (::getenv("IPU_DEBUG") != nullptr) return "";
  return hook::plain::passes_to(line, {hook::config::run_dir(), hook::config::config_file()});
}

// Without ipu-container-start, which knows better. MESSAGE has no character to escape.
void report(const CommandLine& line, const std::string& message) {
  (void)base::write_all(STDERR_FILENO, message + "\n", "standard error");
  if (!line.log.starts_with('/') || line.log == "/dev/stderr") return;
  const base::Result<base::Fd> log =
      base::open_at(AT_FDCWD, line.log, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK, 0644);
  const std::string time = base::rfc3339(base::unix_millis());
  const std::string text =
      line.log_json
          ? base::str("{\"level\":\"error\",\"msg\":\"", message, "\",\"time\":\"", time, "\"}\n")
          : base::str("time=\"", time, "\" level=error msg=\"", message, "\"\n");
  if (log.ok()) (void)base::write_all(log.value().get(), text, line.log);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  const CommandLine line = hook::oci::parse_command_line(args);
  std::string name = choose_program(line);
  char* no_args[] = {nullptr, nullptr};
  char** new_argv = argc > 0 ? argv : no_args;
  if (!name.empty()) {
    // argv[0] is the path of the runtime, as if it had been called: it may find itself by this
    // name.
    new_argv[0] = name.data();
    (void)::execv(name.c_str(), new_argv);
  }
  name = hook::config::start_program();
  new_argv[0] = name.data();
  hook::plain::name_caller();
  (void)::execv(name.c_str(), new_argv);
  report(line, base::str("ipu: execute '", name, "': ", std::strerror(errno),
                         "; install the IPU container toolkit again"));
  return 1;
}
