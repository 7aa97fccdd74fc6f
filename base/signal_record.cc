// SPDX-License-Identifier: Apache-2.0
#include "base/signal_record.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include <ctime>

namespace base {
namespace {

// Nobody may read a pipe that is full.
void write_to_stderr(std::string_view event) {
  pollfd waiter{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&waiter, 1, 0) != 1 || (waiter.revents & POLLOUT) == 0) return;
  RecordLine line;
  line.add("ipu: ").add(event).add("\n");
  (void)!::write(STDERR_FILENO, line.text().data(), line.text().size());
}

void write_to_syslog(std::string_view event) {
  RecordLine line;
  line.add("<").add_number(LOG_DAEMON | LOG_ALERT).add(">").add(event);
  const int log = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const sockaddr_un address{AF_UNIX, "/dev/log"};
  if (::connect(log, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    (void)::send(log, line.text().data(), line.text().size(), MSG_NOSIGNAL);
}

void write_to_file(const char* path, std::string_view event) {
  RecordLine line;
  line.add_number(static_cast<uint64_t>(::time(nullptr))).add(" ").add(event).add("\n");
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const int file = ::open(path, kFlags, 0600);
  struct stat status {};
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
      static_cast<size_t>(status.st_size) < kMaxRecords)
    (void)!::write(file, line.text().data(), line.text().size());
}

}  // namespace

void write_record(const RecordPlace& place, std::string_view event) {
  if (!place.on_stderr_only) write_to_file(place.file, event);
  if (!place.on_stderr_only) write_to_syslog(event);
  // Last: its reader may have ended.
  write_to_stderr(event);
}

}  // namespace base
