// SPDX-License-Identifier: Apache-2.0
// ipu-container-runtime stands before runc or crun. It is small, because it stands before every
// command on every container. What is none of our business goes to the low-level runtime as it is,
// by one execve. All else goes to ipu-container-start, as it is too.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "hook/config/paths.h"
#include "hook/container/oci/command_line.h"
#include "hook/plain/plain.h"

namespace {

std::string choose_program(const std::vector<std::string_view>& args) {
  if (::getenv("IPU_DEBUG") != nullptr) return "";
  return hook::plain::passes_to(hook::oci::parse_command_line(args),
                                {hook::config::run_dir(), hook::config::config_file()});
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  std::string name = choose_program(args);
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
  (void)::execv(name.c_str(), new_argv);
  (void)std::fprintf(stderr, "ipu: execute '%s': %s; install the IPU container toolkit again\n",
                     name.c_str(), std::strerror(errno));
  return 1;
}
