// SPDX-License-Identifier: Apache-2.0
#include "base/forbidden_calls.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "base/text.h"

namespace base {
namespace {

// What the handler needs: it may call only what signal-safety(7) allows, so it makes no string.
struct About {
  const char* program = "";
  const char* phase = "";
  std::span<const char* const> names;
  char file[256] = "";
  bool on_stderr_only = false;
};
About about;

// A line in a buffer. What does not fit is cut.
class RecordLine {
 public:
  RecordLine& add(std::string_view text) {
    const size_t taken = std::min(text.size(), sizeof buffer_ - size_);
    std::memcpy(buffer_ + size_, text.data(), taken);
    size_ += taken;
    return *this;
  }
  RecordLine& add_number(unsigned number) {
    char digits[10];
    size_t at = sizeof digits;
    do {
      digits[--at] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    return add({digits + at, sizeof digits - at});
  }
  [[nodiscard]] const char* data() const { return buffer_; }
  [[nodiscard]] size_t size() const { return size_; }

 private:
  char buffer_[512];
  size_t size_ = 0;
};

void add_call(RecordLine& line, unsigned number) {
  const char* const name = number < about.names.size() ? about.names[number] : nullptr;
  line.add(name != nullptr ? name : "unknown").add(" (").add_number(number).add(")");
}

void add_event(RecordLine& line, unsigned call) {
  line.add(about.program).add(", pid ").add_number(static_cast<unsigned>(::getpid()));
  line.add(": the system call ");
  add_call(line, call);
  line.add(" is forbidden in phase ").add(about.phase).add(", so the process was ended");
}

// Nobody may read a pipe that is full.
void write_to_stderr(unsigned call) {
  pollfd waiter{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&waiter, 1, 0) != 1 || (waiter.revents & POLLOUT) == 0) return;
  RecordLine line;
  line.add("ipu: ");
  add_event(line, call);
  line.add("\n");
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

void write_to_syslog(unsigned call) {
  RecordLine line;
  line.add("<").add_number(LOG_DAEMON | LOG_ALERT).add(">");
  add_event(line, call);
  const int log = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const sockaddr_un address{AF_UNIX, "/dev/log"};
  if (::connect(log, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    (void)::send(log, line.data(), line.size(), MSG_NOSIGNAL);
}

void write_to_file(unsigned call) {
  RecordLine line;
  line.add_number(static_cast<unsigned>(::time(nullptr))).add(" ");
  add_event(line, call);
  line.add("\n");
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const int file = ::open(about.file, kFlags, 0600);
  struct stat status {};
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
      static_cast<size_t>(status.st_size) < kMaxForbiddenCalls)
    (void)!::write(file, line.data(), line.size());
}

// The action is the default one again since the handler began, and SIGSYS is not blocked: a
// forbidden call in here ends the process too.
void on_forbidden_call(int, siginfo_t* info, void*) {
  const auto call = static_cast<unsigned>(info->si_syscall);
  if (!about.on_stderr_only) write_to_file(call);
  if (!about.on_stderr_only) write_to_syslog(call);
  // Last: its reader may have ended.
  write_to_stderr(call);
  (void)::raise(SIGSYS);
}

}  // namespace

Status record_forbidden_calls(const ForbiddenCalls& calls) {
  if (calls.file.size() >= sizeof about.file)
    return Error(Code::kInvalid, str("the path ", quote(calls.file), " is too long"));
  std::memcpy(about.file, calls.file.c_str(), calls.file.size() + 1);
  about.program = calls.program;
  about.phase = calls.phase;
  about.names = calls.names;
  struct sigaction action {};
  action.sa_sigaction = on_forbidden_call;
  action.sa_flags = SA_SIGINFO | static_cast<int>(SA_RESETHAND) | SA_NODEFER;
  if (::sigaction(SIGSYS, &action, nullptr) == 0) return {};
  return Error::from_errno(errno, "set the handler of SIGSYS");
}

void record_on_stderr_only() { about.on_stderr_only = true; }

}  // namespace base
