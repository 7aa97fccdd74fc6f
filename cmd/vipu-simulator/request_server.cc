// SPDX-License-Identifier: Apache-2.0
#include "cmd/vipu-simulator/request_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace simulator {

using base::Deadline;
using base::Fd;
using std::chrono::milliseconds;

namespace {
constexpr milliseconds kPatience(2000);
}

RequestServer::RequestServer(Fd listener, Limits limits, Answer answer)
    : listener_(std::move(listener)),
      limits_(limits),
      answer_(std::move(answer)),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { serve(); }) {}

RequestServer::~RequestServer() {
  const uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

RequestServer::Ready RequestServer::wait(int fd, short events, const Deadline* deadline) const {
  for (;;) {
    pollfd waiters[] = {{stop_.get(), POLLIN, 0}, {fd, events, 0}};
    const int left = deadline == nullptr ? -1 : static_cast<int>(deadline->left().count());
    const int count = ::poll(waiters, std::size(waiters), left);
    if (count < 0 && errno == EINTR) continue;
    return count > 0 && waiters[0].revents == 0 ? Ready::kYes : Ready::kNo;
  }
}

void RequestServer::serve() const {
  while (wait(listener_.get(), POLLIN, nullptr) == Ready::kYes) {
    const Fd peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (peer.valid()) {
      serve_one(peer);
    } else if (errno != EAGAIN && errno != ECONNABORTED) {
      // Without a free descriptor, the connection stays in the queue. The pause keeps the loop from
      // spinning.
      base::sleep_for(milliseconds(10), Deadline::after(milliseconds(10)));
    }
  }
}

// Returns the request of PEER; empty if it does not arrive in time, or is too long.
std::string RequestServer::read(const Fd& peer, const Deadline& deadline) const {
  std::string request;
  while (wait(peer.get(), POLLIN, &deadline) == Ready::kYes) {
    char chunk[4096];
    const ssize_t got = ::recv(peer.get(), chunk, sizeof chunk, 0);
    if (got <= 0) return "";
    request.append(chunk, static_cast<size_t>(got));
    if (request.find(limits_.end) != std::string::npos) return request;
    if (request.size() > limits_.max) return "";
  }
  return "";
}

void RequestServer::serve_one(const Fd& peer) const {
  const std::string request = read(peer, Deadline::after(kPatience));
  if (request.empty()) return;
  const std::string reply = answer_(request);
  const Deadline deadline = Deadline::after(kPatience);
  for (size_t sent = 0; sent < reply.size();) {
    const ssize_t count =
        ::send(peer.get(), reply.data() + sent, reply.size() - sent, MSG_NOSIGNAL);
    if (count >= 0) {
      sent += static_cast<size_t>(count);
    } else if (errno != EAGAIN || wait(peer.get(), POLLOUT, &deadline) == Ready::kNo) {
      return;
    }
  }
}

}  // namespace simulator
