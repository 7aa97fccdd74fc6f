// SPDX-License-Identifier: Apache-2.0
// ipu-container-poststop is the poststop hook of a container that the wrapper prepared:
//   ipu-container-poststop poststop --lease ID
// The engine waits only until another process has become `ipu-container-hook release --lease ID`.
// If that is killed before it records the release, the next reconcile finds the lease without its
// owner. In every doubt this program becomes ipu-container-hook, with its own arguments.
//
// It uses no C library, whose start takes longer than all that is done here: see base/bare.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <string_view>

#include "cmd/ipu-container-poststop/site.h"

namespace {

// The variable that has the hook log everything.
constexpr std::string_view kDebug = "IPU_DEBUG=1";

bool is_lease_id(std::string_view text) {
  constexpr size_t kLength = 32;
  for (const char c : text)
    if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f')) return false;
  return text.size() == kLength;
}

bool names_lease(int argc, char* const* argv) {
  return argc == 4 && std::string_view(argv[1]) == "poststop" &&
         std::string_view(argv[2]) == "--lease" && is_lease_id(argv[3]);
}

// Cuts this process off from where it came from: its own session, "/", /dev/null as its three
// standard streams, no other descriptor, no blocked signal.
bool detach() {
  const sigset_t none{};
  return ::setsid() >= 0 && ::chdir("/") == 0 && ::close_range(0, ~0U, 0) == 0 &&
         ::open("/dev/null", O_RDWR) == 0 && ::dup(0) == 1 && ::dup(0) == 2 &&
         ::sigprocmask(SIG_SETMASK, &none, nullptr) == 0;
}

// Returns whether another process has become the release of lease ID.
bool start_release(char* id, char* const* environment) {
  char name[] = "ipu-container-hook";
  char stage[] = "release";
  char option[] = "--lease";
  char* const argv[] = {name, stage, option, id, nullptr};
  char* kept[] = {nullptr, nullptr};
  for (; *environment != nullptr; ++environment)
    if (*environment == kDebug) kept[0] = *environment;
  // The child has this memory until it is another program or has ended.
  volatile bool has_failed = false;
  const pid_t child = ::vfork();
  if (child == 0) {
    if (detach()) (void)::execve(poststop::kHookProgram, argv, kept);
    has_failed = true;
    ::_exit(127);
  }
  if (child > 0 && has_failed) (void)::waitpid(child, nullptr, 0);
  return child > 0 && !has_failed;
}

// Otherwise the low-level runtime would write into a closed pipe.
void drain(int file) {
  char bytes[4096];
  ssize_t length = 0;
  do length = ::read(file, bytes, sizeof bytes);
  while (length > 0 || (length < 0 && errno == EINTR));
}

}  // namespace

int main(int argc, char** argv, char** environment) {
  if (names_lease(argc, argv) && start_release(argv[3], environment)) {
    drain(STDIN_FILENO);
    return 0;
  }
  (void)::execve(poststop::kHookProgram, argv, environment);
  // runc shows this line only with a failure, so 'ipuctl doctor' says it, too.
  drain(STDIN_FILENO);
  constexpr std::string_view kMessage =
      "ipu: cannot execute ipu-container-hook; install the IPU container toolkit again\n";
  (void)!::write(STDERR_FILENO, kMessage.data(), kMessage.size());
  // A failure here would only keep the engine from deleting the container.
  return 0;
}
