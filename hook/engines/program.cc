// SPDX-License-Identifier: Apache-2.0
#include "hook/engines/program.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/fd.h"
#include "base/fs.h"
#include "base/names.h"
#include "base/process.h"
#include "base/text.h"

namespace hook::engines {
namespace {

using namespace base::names;

constexpr size_t kMaxOutput = 1 << 20;
constexpr size_t kMaxError = 2000;  // how much of a program's errors is shown

std::vector<std::string> environment() {
  std::vector<std::string> env = {
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8"};
  if (::geteuid() == 0) {
    env.emplace_back("HOME=/root");
    env.emplace_back("DOCKER_CONFIG=/nonexistent");
    return env;
  }
  for (const char* const name : {"HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "XDG_DATA_HOME"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr) env.push_back(str(name, "=", std::string_view(value)));
  }
  return env;
}

}  // namespace

Result<std::string> find_program(std::string_view name) {
  for (const std::string_view directory : {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                           "/usr/bin", "/sbin", "/bin", "/snap/bin"}) {
    std::string path = str(directory, "/", name);
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return Error(Code::kNotFound, str("program ", base::quote(name), " is not installed"));
}

Result<Answer> ask(const std::string& program, const std::vector<std::string>& args,
                   const base::Deadline& deadline) {
  const base::Fd errors(::memfd_create("errors", MFD_CLOEXEC));
  if (!errors.valid()) return Error::from_errno(errno, str("ask ", program));
  base::Command command;
  command.path = program;
  command.args = {program};
  command.args.insert(command.args.end(), args.begin(), args.end());
  command.env = environment();
  command.max_output = kMaxOutput;
  command.error_fd = errors.get();
  base::Output output = TRY(base::run(command, deadline));
  std::string text(kMaxError, '\0');
  const ssize_t got = ::pread(errors.get(), text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  Answer answer{output.exit_status, std::move(output.out), {}};
  answer.errors = base::one_line(base::trim(text), kMaxError);
  return answer;
}

}  // namespace hook::engines
