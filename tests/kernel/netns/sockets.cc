// SPDX-License-Identifier: Apache-2.0
#include "tests/kernel/netns/sockets.h"

#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/capabilities.h"
#include "netns/internal/scope.h"

namespace netns {

using base::Fd;

namespace {

void check(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

int domain_of(const Address& address) { return address.is_ipv4() ? AF_INET : AF_INET6; }

uint16_t port_of(const SocketAddress& address) {
  const void* const storage = &address.storage;
  return ntohs(address.storage.ss_family == AF_INET
                   ? static_cast<const sockaddr_in*>(storage)->sin_port
                   : static_cast<const sockaddr_in6*>(storage)->sin6_port);
}

Service serve(const Namespace& in, int type, const Address& at, uint16_t port) {
  Fd fd = must(internal::open_socket(in.fd(), domain_of(at), type, 0));
  SocketAddress address = socket_address(at, port);
  check(bind(fd.get(), address.get(), address.size) == 0, "bind");
  void* const storage = &address.storage;
  check(getsockname(fd.get(), static_cast<sockaddr*>(storage), &address.size) == 0, "getsockname");
  return {std::move(fd), port_of(address)};
}

bool readable(const Fd& fd, std::chrono::milliseconds patience) {
  pollfd poll_fd{.fd = fd.get(), .events = POLLIN, .revents = 0};
  return poll(&poll_fd, 1, static_cast<int>(patience.count())) == 1;
}

int error_of(const Fd& fd) {
  int error = 0;
  socklen_t size = sizeof error;
  check(getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0, "SO_ERROR");
  return error;
}

[[noreturn]] void run_confined(const Namespace& in, const std::function<int()>& function) {
  int result = 255;
  if (setns(in.fd(), CLONE_NEWNET) == 0 && base::clear_bounding_set() &&
      base::clear_capabilities()) {
    try {
      result = function();
    } catch (const std::exception& e) {
      (void)!write(STDERR_FILENO, e.what(), std::strlen(e.what()));
    }
  }
  _exit(result);
}

}  // namespace

Address ip(const char* text) { return must(parse_address(text)); }

const sockaddr* SocketAddress::get() const {
  const void* const pointer = &storage;
  return static_cast<const sockaddr*>(pointer);
}

SocketAddress socket_address(const Address& address, uint16_t port) {
  SocketAddress out;
  void* const storage = &out.storage;
  if (address.is_ipv4()) {
    auto& ipv4 = *static_cast<sockaddr_in*>(storage);
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(port);
    std::memcpy(&ipv4.sin_addr, address.raw().data(), address.raw().size());
    out.size = sizeof ipv4;
  } else {
    auto& ipv6 = *static_cast<sockaddr_in6*>(storage);
    ipv6.sin6_family = AF_INET6;
    ipv6.sin6_port = htons(port);
    std::memcpy(&ipv6.sin6_addr, address.raw().data(), address.raw().size());
    out.size = sizeof ipv6;
  }
  return out;
}

Service serve_tcp(const Namespace& in, const Address& at, uint16_t port) {
  Service service = serve(in, SOCK_STREAM, at, port);
  check(listen(service.socket.get(), 64) == 0, "listen");
  return service;
}

Service serve_udp(const Namespace& in, const Address& at, uint16_t port) {
  return serve(in, SOCK_DGRAM, at, port);
}

Fd make_socket(const Client& client, int type, const Address& to, int protocol) {
  Fd fd = must(internal::open_socket(client.in.fd(), domain_of(to), type, protocol));
  if (!client.device.empty()) {
    check(setsockopt(fd.get(), SOL_SOCKET, SO_BINDTODEVICE, client.device.c_str(),
                     static_cast<socklen_t>(client.device.size())) == 0,
          "SO_BINDTODEVICE");
  }
  const int on = 1;
  if (client.source.has_value()) {
    const bool is_ipv4 = to.is_ipv4();
    check(setsockopt(fd.get(), is_ipv4 ? int{IPPROTO_IP} : int{IPPROTO_IPV6},
                     is_ipv4 ? IP_FREEBIND : IPV6_FREEBIND, &on, sizeof on) == 0,
          "IP_FREEBIND");
  }
  Address any;
  any.family = to.family;
  const SocketAddress source = socket_address(client.source.value_or(any), client.source_port);
  check(bind(fd.get(), source.get(), source.size) == 0, "bind");
  return fd;
}

int connect_tcp(const Client& client, const Address& to, uint16_t port,
                std::chrono::milliseconds patience) {
  const Fd fd = make_socket(client, SOCK_STREAM | SOCK_NONBLOCK, to);
  const SocketAddress address = socket_address(to, port);
  if (connect(fd.get(), address.get(), address.size) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd poll_fd{.fd = fd.get(), .events = POLLOUT, .revents = 0};
  if (poll(&poll_fd, 1, static_cast<int>(patience.count())) != 1) return ETIMEDOUT;
  return error_of(fd);
}

int try_send_udp(const Client& client, const Address& to, uint16_t port) {
  const Fd fd = make_socket(client, SOCK_DGRAM, to);
  const int yes = 1;
  check(setsockopt(fd.get(), SOL_SOCKET, SO_BROADCAST, &yes, sizeof yes) == 0, "allow broadcasts");
  const SocketAddress address = socket_address(to, port);
  return sendto(fd.get(), "x", 1, 0, address.get(), address.size) == 1 ? 0 : errno;
}

bool send_udp(const Client& client, const Address& to, const Service& service) {
  return try_send_udp(client, to, service.port) == 0 && has_datagram(service, kQuiet);
}

bool sends(const Service& from, const Address& to, const Service& service) {
  const SocketAddress address = socket_address(to, service.port);
  return sendto(from.socket.get(), "x", 1, 0, address.get(), address.size) == 1 &&
         has_datagram(service, kQuiet);
}

bool has_datagram(const Service& service, std::chrono::milliseconds patience) {
  char byte = 0;
  return readable(service.socket, patience) && recv(service.socket.get(), &byte, 1, 0) == 1;
}

int ping(const Client& client, const Address& to, std::chrono::milliseconds patience) {
  const bool is_ipv4 = to.is_ipv4();
  const Fd fd =
      make_socket(client, SOCK_DGRAM, to, is_ipv4 ? int{IPPROTO_ICMP} : int{IPPROTO_ICMPV6});
  std::array<uint8_t, 8> request{};
  request[0] = is_ipv4 ? ICMP_ECHO : ICMP6_ECHO_REQUEST;
  const SocketAddress address = socket_address(to, 0);
  if (sendto(fd.get(), request.data(), request.size(), 0, address.get(), address.size) < 0) {
    return errno;
  }
  return readable(fd, patience) ? error_of(fd) : ETIMEDOUT;
}

bool echoes(const Namespace& client, const Address& to, const Service& service) {
  const Fd fd = make_socket({client}, SOCK_STREAM | SOCK_NONBLOCK, to);
  const SocketAddress address = socket_address(to, service.port);
  if (connect(fd.get(), address.get(), address.size) != 0 && errno != EINPROGRESS) return false;
  if (!readable(service.socket, kPatience)) return false;
  const Fd accepted(accept4(service.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (send(accepted.get(), "x", 1, MSG_NOSIGNAL) != 1 || !readable(fd, kPatience)) return false;
  char byte = 0;
  return recv(fd.get(), &byte, 1, 0) == 1 && byte == 'x';
}

int confined(const Namespace& in, const std::function<int()>& function) {
  const pid_t child = fork();
  check(child >= 0, "fork");
  if (child == 0) run_confined(in, function);
  int status = 0;
  check(waitpid(child, &status, 0) == child, "waitpid");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

}  // namespace netns
