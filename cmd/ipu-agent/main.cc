// SPDX-License-Identifier: Apache-2.0
// ipu-agent: answers users without root, and keeps time.
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>

#include "base/fs.h"
#include "base/names.h"
#include "base/process.h"
#include "base/users.h"
#include "base/version.h"
#include "cmd/common/usage/usage.h"
#include "cmd/ipu-agent/door/door.h"
#include "cmd/ipu-agent/door/user_of.h"
#include "cmd/ipu-agent/keeper.h"
#include "cmd/ipu-agent/listener.h"
#include "hook/config/paths.h"
#include "hook/confinement/enter.h"

namespace {

using namespace base::names;
using hook::confinement::Phase;

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr size_t kLongestLine = 1000;
constexpr const char* kProgram = "ipu-agent";
// Debian's `nobody` and `nogroup`, where the user was not made.
constexpr base::Credentials kNobody{65534, 65534};

void complain(const std::string& message) {
  (void)std::fprintf(stderr, "%s: %s\n", kProgram, base::one_line(message, kLongestLine).c_str());
}

Status confine(Phase phase) {
  return hook::confinement::enter(phase, kProgram, hook::config::forbidden_calls_file());
}

// Becomes the user of the door, and ends with the process PARENT.
Status become(const base::Credentials& who, pid_t parent) {
  if (!base::drop_to(who)) return Error::from_errno(errno, "become the user of the door");
  // Set after the change of user, which clears it.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
    return Error::from_errno(errno, "end with the parent");
  if (::getppid() != parent) return Error(Code::kUnavailable, "the parent has ended");
  return confine(Phase::kDoor);
}

Status run_door(const base::Credentials& who, pid_t parent, int listener, int keeper) {
  TRY(become(who, parent));
  return agent::serve_door(listener, keeper);
}

Status block_signals() {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int signal : {SIGTERM, SIGINT, SIGCHLD}) sigaddset(&handled, signal);
  if (::sigprocmask(SIG_BLOCK, &handled, nullptr) == 0) return {};
  return Error::from_errno(errno, "block signals");
}

Result<agent::Listener> listen_at(const std::string& path) {
  agent::Listener listener = TRY(agent::passed_listener());
  if (listener.socket.valid()) return listener;
  TRY(base::ensure_dir(hook::config::run_dir(), 0711));
  return agent::make_listener(path);
}

// Two processes: this one, and the door, its child.
Status run(const std::string& path) {
  if (::geteuid() != 0) return Error(Code::kDenied, "run ipu-agent as root");
  const base::Credentials who = TRY(base::find_user(kProgram)).value_or(kNobody);
  agent::Listener listener = TRY(listen_at(path));
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return Error::from_errno(errno, "make a pair of sockets");
  base::Fd here(ends[0]);
  base::Fd there(ends[1]);
  TRY(block_signals());
  const pid_t self = ::getpid();
  const pid_t door = ::fork();
  if (door < 0) return Error::from_errno(errno, "start the door");
  if (door == 0) {
    here.reset();
    return run_door(who, self, listener.socket.get(), there.get());
  }
  there.reset();
  const std::string connected = TRY(agent::path_of(listener.socket.get()));
  listener.socket.reset();
  TRY(confine(Phase::kAgent));
  const Status kept = agent::keep(here.get(), connected);
  if (!listener.made.empty()) (void)base::remove_file(listener.made);
  return kept;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Answer users without root about IPUs, and keep time for reservations", kProgram);
  std::string path = hook::config::agent_socket();
  app.add_option("--socket", path, "Listen here, unless systemd passes a socket")
      ->type_name("PATH");
  app.footer("Example:\n  systemctl enable --now ipu-agent.socket ipu-agent.service");
  app.set_version_flag("--version", str(kProgram, " ", base::product_version()),
                       "Print the version and exit");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // help, which CLI11 reports as an error too
    complain(usage::error_of(app, e).message());
    return kUsage;
  }
  (void)std::signal(SIGPIPE, SIG_IGN);
  const Status done = run(path);
  if (done.ok()) return 0;
  complain(done.error().message());
  return kFailed;
}
