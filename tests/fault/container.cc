// SPDX-License-Identifier: Apache-2.0
#include "tests/fault/container.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "base/capabilities.h"
#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"

namespace fault {

using namespace base::names;
using base::Fd;

namespace {

// Runs in the child of a fork. Says with one byte that it is in its namespace.
[[noreturn]] void live(int joined, int ready) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int entered = joined >= 0 ? ::setns(joined, CLONE_NEWNET) : ::unshare(CLONE_NEWNET);
  if (entered != 0 || !base::clear_bounding_set() || !base::clear_capabilities()) ::_exit(1);
  (void)!::write(ready, "", 1);
  for (;;) (void)::pause();
}

}  // namespace

Result<Container> Container::start(const std::string& name, const Container* of) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno(errno, "make a pipe");
  const Fd said(ends[0]);
  Fd ready(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return Error::from_errno(errno, "fork");
  if (pid == 0) live(of == nullptr ? -1 : of->netns(), ready.get());
  ready.reset();
  Container container(name, pid, Fd());
  char byte = 0;
  if (::read(said.get(), &byte, 1) != 1) {
    return Error(Code::kInternal, str("container ", name, " did not start"));
  }
  container.netns_ = TRY(base::open_at(AT_FDCWD, str("/proc/", pid, "/ns/net"), O_RDONLY));
  return container;
}

Container::Container(Container&& other) noexcept
    : name_(std::move(other.name_)),
      pid_(std::exchange(other.pid_, -1)),
      netns_(std::move(other.netns_)) {}

void Container::end() {
  if (pid_ <= 0) return;
  (void)::kill(pid_, SIGKILL);
  (void)::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

std::string Container::netns_path() const { return str("/proc/", pid_, "/ns/net"); }

std::string Container::state(const std::string& bundle) const {
  return str(R"({"ociVersion":"1.0.2","id":")", name_, R"(","bundle":")", bundle,
             R"(","status":"creating","pid":)", pid_, "}");
}

}  // namespace fault
