// SPDX-License-Identifier: Apache-2.0
#include "cmd/vipu-simulator/endpoints.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/clock.h"
#include "base/fs.h"
#include "base/names.h"
#include "base/scope.h"
#include "base/text.h"

namespace simulator {
namespace {

using namespace base::names;
using base::Fd;
using vipu::simulator::Pod;

// An event of epoll carries the index of its endpoint, or kStop.
constexpr uint32_t kStop = UINT32_MAX;

Result<Fd> listen_on(const std::string& address, uint32_t port) {
  const std::string what = str("listen on ", address, ":", port);
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return Error::from_errno(errno, what);
  const int on = 1;
  // A restart must not wait for the last run's connections, and the address may be added later.
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::setsockopt(socket.get(), IPPROTO_IP, IP_FREEBIND, &on, sizeof on) != 0) {
    return Error::from_errno(errno, what);
  }
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<uint16_t>(port));
  (void)::inet_pton(AF_INET, address.c_str(), &name.sin_addr);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    return Error::from_errno(errno, what);
  }
  return socket;
}

Status watch(int epoll, int fd, uint32_t place) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u32 = place;
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) return Error::from_errno(errno, "epoll");
  return {};
}

Status enter(const Fd& netns, const std::string& path) {
  if (::setns(netns.get(), CLONE_NEWNET) == 0) return {};
  return Error::from_errno(errno, str("enter network namespace ", base::quote(path)));
}

}  // namespace

Status EndpointServer::add(const Pod& pod, uint32_t ipu, uint32_t port) {
  const std::string address = vipu::simulator::address_of(pod, vipu::simulator::machine_of(ipu));
  Fd socket = TRY(listen_on(address, port));
  TRY(watch(epoll_.get(), socket.get(), static_cast<uint32_t>(endpoints_.size())));
  endpoints_.push_back({std::move(socket), ipu,
                        str("ipu-machine ", address, " ipu ",
                            vipu::simulator::number_in_machine(ipu), " partition ")});
  return {};
}

Status EndpointServer::add_all(const Pod& pod) {
  for (uint32_t ipu = 0; ipu < pod.ipus(); ++ipu) {
    const uint32_t number = vipu::simulator::number_in_machine(ipu);
    TRY(add(pod, ipu, vipu::simulator::kServerPort + number));
    TRY(add(pod, ipu, vipu::simulator::kRdmaPort + number));
  }
  return {};
}

Result<EndpointServer> EndpointServer::open(const Pod& pod, const std::string& netns) {
  EndpointServer server;
  server.epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  server.stop_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!server.epoll_.valid() || !server.stop_.valid()) return Error::from_errno(errno, "endpoints");
  TRY(watch(server.epoll_.get(), server.stop_.get(), kStop));
  if (netns.empty()) {
    TRY(server.add_all(pod));
    return server;
  }
  const Fd home = TRY(base::open_at(AT_FDCWD, "/proc/thread-self/ns/net", O_RDONLY));
  const Fd target = TRY(base::open_at(AT_FDCWD, netns, O_RDONLY));
  TRY(enter(target, netns));
  const base::ScopeExit go_home([&] {
    // The program must not continue in the wrong namespace.
    if (::setns(home.get(), CLONE_NEWNET) != 0) std::abort();
  });
  TRY(server.add_all(pod));
  return server;
}

EndpointServer::~EndpointServer() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

void EndpointServer::start(HolderOf holder_of) {
  thread_ = std::thread([this, holder = std::move(holder_of)] { serve(holder); });
}

void EndpointServer::serve(const HolderOf& holder_of) {
  epoll_event events[64];
  for (;;) {
    const int count = ::epoll_wait(epoll_.get(), events, std::size(events), -1);
    for (int i = 0; i < count; ++i) {
      const uint32_t place = events[i].data.u32;
      if (place == kStop) return;
      answer(endpoints_[place], holder_of);
    }
  }
}

void EndpointServer::answer(const Endpoint& endpoint, const HolderOf& holder_of) {
  using std::chrono::milliseconds;
  const Fd peer(::accept4(endpoint.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!peer.valid()) {
    // Without a free descriptor, the connection stays in the queue. The pause keeps the loop from
    // spinning.
    const bool full = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    if (full) base::sleep_for(milliseconds(10), base::Deadline::after(milliseconds(10)));
    return;
  }
  const std::string holder = holder_of(endpoint.ipu);
  const std::string line = str(endpoint.prefix, holder.empty() ? "none" : holder, "\n");
  // A new connection has room for the line. A connection without room gets no line.
  (void)::send(peer.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace simulator
