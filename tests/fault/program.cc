// SPDX-License-Identifier: Apache-2.0
#include "tests/fault/program.h"

#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"

namespace fault {

using namespace base::names;
using base::Fd;

namespace {

Result<Fd> memory_file(const char* name) {
  Fd fd(::memfd_create(name, MFD_CLOEXEC));
  if (!fd.valid()) return Error::from_errno(errno, "make a file in memory");
  return fd;
}

std::string content(int fd) {
  std::string text;
  char chunk[4096];
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(fd, chunk, sizeof chunk, at);
    if (got <= 0) return text;
    text.append(chunk, static_cast<size_t>(got));
    at += got;
  }
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (std::string& s : strings) out.push_back(s.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

Result<Streams> Streams::open(const std::string& input) {
  Streams streams;
  streams.in_ = TRY(memory_file("input"));
  streams.out_ = TRY(memory_file("output"));
  streams.err_ = TRY(memory_file("error"));
  TRY(base::write_all(streams.in(), input, "input"));
  if (::lseek(streams.in(), 0, SEEK_SET) != 0) return Error::from_errno(errno, "seek");
  return streams;
}

std::string Streams::out_text() const { return content(out()); }
std::string Streams::err_text() const { return content(err()); }

Result<pid_t> start(const Program& program, const Streams& streams, Traced traced) {
  std::vector<std::string> words = {program.path.substr(program.path.rfind('/') + 1)};
  words.insert(words.end(), program.args.begin(), program.args.end());
  std::vector<std::string> variables = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> envp = pointers(variables);
  const pid_t pid = ::fork();
  if (pid < 0) return Error::from_errno(errno, "fork");
  if (pid > 0) return pid;
  sigset_t none;
  sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (::dup2(streams.in(), 0) < 0 || ::dup2(streams.out(), 1) < 0 || ::dup2(streams.err(), 2) < 0) {
    ::_exit(126);
  }
  if (traced == Traced::kYes) {
    (void)::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    (void)::raise(SIGSTOP);
  } else {
    constexpr unsigned kLongest = 120;  // seconds, for what nobody else ends
    (void)::alarm(kLongest);
  }
  (void)::execve(program.path.c_str(), argv.data(), envp.data());
  ::_exit(127);
}

Result<Ended> run(const Program& program) {
  const Streams streams = TRY(Streams::open(program.input));
  const pid_t pid = TRY(start(program, streams, Traced::kNo));
  Ended ended;
  if (::waitpid(pid, &ended.status, 0) != pid) return Error::from_errno(errno, "wait");
  ended.out = streams.out_text();
  ended.err = streams.err_text();
  return ended;
}

Status must_run(const Program& program) {
  const Ended ended = TRY(run(program));
  if (ended.succeeded()) return {};
  return Error(Code::kInternal,
               str(program.path, " ", base::join(program.args, " "), ": ",
                   status_text(ended.status), ": ", base::one_line(ended.err, 500)));
}

Result<std::string> why_it_fails(const Program& program) {
  const Ended ended = TRY(run(program));
  if (ended.succeeded()) return std::string();
  return str(program.path.substr(program.path.rfind('/') + 1), " ", base::join(program.args, " "),
             ": ", status_text(ended.status), ": ", base::one_line(ended.err, 300));
}

std::string status_text(int status) {
  return WIFSIGNALED(status) ? str("signal ", WTERMSIG(status))
                             : str("exit status ", WEXITSTATUS(status));
}

}  // namespace fault
