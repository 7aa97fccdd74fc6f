// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/stream.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>

#include "base/names.h"

namespace ipuctl {

using namespace base::names;

Result<Stream> Stream::open() {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  base::Fd signals(::signalfd(-1, &ends, SFD_CLOEXEC));
  if (!signals.valid()) return Error::from_errno(errno, "create a signal descriptor");
  if (::sigprocmask(SIG_BLOCK, &ends, nullptr) != 0)
    return Error::from_errno(errno, "block signals");
  (void)std::signal(SIGPIPE, SIG_IGN);
  return Stream(std::move(signals));
}

// poll() reports a reader that has gone as an error of the pipe.
Result<Stream::Goes> Stream::wait(Until until, int time_ms, const std::vector<int>& fds) {
  const short wanted = until == Until::kWritable ? POLLOUT : 0;
  std::vector<pollfd> polled = {{signals_.get(), POLLIN, 0}, {STDOUT_FILENO, wanted, 0}};
  for (const int fd : fds) polled.push_back({fd, POLLIN, 0});
  if (::poll(polled.data(), polled.size(), time_ms) < 0 && errno != EINTR)
    return Error::from_errno(errno, "wait for standard output");
  if (polled[0].revents != 0 || (polled[1].revents & (POLLERR | POLLHUP)) != 0) return Goes::kEnd;
  return Goes::kOn;
}

Result<Stream::Goes> Stream::write(std::string_view text) {
  while (!text.empty()) {
    // A writable pipe takes PIPE_BUF bytes without blocking, so that no signal is missed.
    if (TRY(wait(Until::kWritable, -1)) == Goes::kEnd) return Goes::kEnd;
    const ssize_t written =
        ::write(STDOUT_FILENO, text.data(), std::min<size_t>(text.size(), PIPE_BUF));
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EPIPE) {
      return Goes::kEnd;
    } else if (errno != EAGAIN && errno != EINTR) {
      return Error::from_errno(errno, "write to standard output");
    }
  }
  return Goes::kOn;
}

Result<Stream::Goes> Stream::pause(std::chrono::milliseconds time, const std::vector<int>& fds) {
  return wait(Until::kTimePasses, static_cast<int>(time.count()), fds);
}

}  // namespace ipuctl
