// SPDX-License-Identifier: Apache-2.0
#include "tests/support/simulator_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace test {

using base::Deadline;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kPatience(10'000);

[[noreturn]] void exec_program(char* const* argv, int out) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)::dup2(out, 1);
  (void)::dup2(out, 2);
  (void)::execv(argv[0], argv);
  ::_exit(127);
}

}  // namespace

SimulatorProcess::SimulatorProcess(const std::string& program, std::vector<std::string> args) {
  int pipe[2] = {-1, -1};
  if (::pipe2(pipe, O_CLOEXEC) != 0) return;
  out_.reset(pipe[0]);
  const base::Fd theirs(pipe[1]);
  args.insert(args.begin(), program);
  std::vector<char*> argv;
  for (std::string& arg : args) argv.push_back(arg.data());
  argv.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) exec_program(argv.data(), theirs.get());
}

SimulatorProcess::~SimulatorProcess() {
  if (pid_ > 0) (void)end(SIGKILL);
}

bool SimulatorProcess::read_some(const Deadline& deadline) {
  pollfd waiter{out_.get(), POLLIN, 0};
  if (::poll(&waiter, 1, static_cast<int>(deadline.left().count())) <= 0) return false;
  char chunk[4096];
  const ssize_t got = ::read(out_.get(), chunk, sizeof chunk);
  if (got > 0) output_.append(chunk, static_cast<size_t>(got));
  return got > 0;
}

std::string SimulatorProcess::wait_until_ready() {
  const Deadline deadline = Deadline::after(kPatience);
  while (output_.find('\n') == std::string::npos && read_some(deadline)) {
  }
  const std::string mark = "listening on ";
  const size_t at = output_.find(mark);
  if (at == std::string::npos) return "";
  const size_t begin = at + mark.size();
  return output_.substr(begin, output_.find(',', begin) - begin);
}

int SimulatorProcess::end(int signal) {
  if (signal != 0) (void)::kill(pid_, signal);
  const Deadline deadline = Deadline::after(kPatience);
  while (read_some(deadline)) {  // until end of file: it has ended
  }
  if (deadline.passed()) (void)::kill(pid_, SIGKILL);
  int status = 0;
  (void)::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace test
