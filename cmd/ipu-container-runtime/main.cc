// SPDX-License-Identifier: Apache-2.0
// ipu-container-runtime stands before runc or crun. It is small, because it stands before every
// command on every container. What is none of our business goes to the low-level runtime as it is,
// by one execve. All else goes to ipu-container-start, as it is too.
//
// It uses no C library, whose start takes longer than all that is done here, and no heap: see
// base/bare.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string_view>

#include "cmd/ipu-container-runtime/site.h"
#include "hook/passing/command_line.h"
#include "hook/passing/passing.h"

namespace {

using hook::passing::CommandLine;
using hook::passing::Text;

// A command line with more words is left to ipu-container-start.
constexpr size_t kMostWords = 1024;

// Returns whether VARIABLE, "NAME=VALUE", has this name.
bool is_named(std::string_view variable, std::string_view name) {
  return variable.size() > name.size() && variable.starts_with(name) &&
         variable[name.size()] == '=';
}

size_t length(char* const* list) {
  size_t count = 0;
  while (list[count] != nullptr) ++count;
  return count;
}

bool chooses_runtime(const CommandLine& line, char* const* environment, Text& runtime) {
  for (; *environment != nullptr; ++environment)
    if (is_named(*environment, "IPU_DEBUG")) return false;
  const hook::passing::Site site{wrapper::kRunDir, wrapper::kConfigFile, wrapper::kVersion};
  return hook::passing::passes_to(line, site, runtime);
}

void write_text(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

// Without ipu-container-start, which knows better. The message has no character to escape, and
// engines want no time in it.
void report(const CommandLine& line, int error) {
  Text message;
  message.add("ipu: execute '").add(wrapper::kStartProgram).add("': ");
  if (error == ENOENT) message.add("No such file or directory");
  if (error == EACCES) message.add("Permission denied");
  if (error != ENOENT && error != EACCES) message.add("error ").add(int64_t{error});
  message.add("; install the IPU container toolkit again");
  Text said;
  write_text(STDERR_FILENO, said.add(message.view()).add("\n").view());
  Text path;
  path.add(line.log);
  if (!line.log.starts_with('/') || line.log == "/dev/stderr" || !path.is_whole()) return;
  constexpr mode_t kMode = 0644;
  const int log =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, kMode);
  if (log < 0) return;
  Text text;
  text.add(line.log_json ? "{\"level\":\"error\",\"msg\":\"" : "level=error msg=\"");
  text.add(message.view()).add(line.log_json ? "\"}\n" : "\"\n");
  write_text(log, text.view());
  (void)::close(log);
}

}  // namespace

int main(int argc, char** argv, char** environment) {
  static std::string_view words[kMostWords];
  const size_t count = argc > 0 ? static_cast<size_t>(argc) - 1 : 0;
  const bool is_long = count > kMostWords;
  for (size_t i = 0; i < count && !is_long; ++i) words[i] = argv[i + 1];
  const CommandLine line = hook::passing::parse_command_line({words, is_long ? 0 : count});
  char* no_args[] = {nullptr, nullptr};
  char** const new_argv = argc > 0 ? argv : no_args;
  Text program;
  if (!is_long && chooses_runtime(line, environment, program)) {
    // argv[0] is the path of the runtime, as if it had been called: it may find itself by this
    // name.
    new_argv[0] = const_cast<char*>(program.c_str());
    (void)::execve(program.c_str(), new_argv, environment);
  }
  // The environment with this program's file, for ipu-container-start.
  Text caller;
  struct stat self {};
  caller.add(hook::passing::kCallerVariable).add("=");
  if (::stat("/proc/self/exe", &self) == 0) hook::passing::add_identity(caller, self);
  auto** const with_caller =
      static_cast<char**>(__builtin_alloca((length(environment) + 2) * sizeof(char*)));
  char** end = with_caller;
  for (; *environment != nullptr; ++environment)
    if (!is_named(*environment, hook::passing::kCallerVariable)) *end++ = *environment;
  *end++ = const_cast<char*>(caller.c_str());
  *end = nullptr;
  new_argv[0] = const_cast<char*>(wrapper::kStartProgram);
  (void)::execve(wrapper::kStartProgram, new_argv, with_caller);
  report(line, errno);
  return 1;
}
