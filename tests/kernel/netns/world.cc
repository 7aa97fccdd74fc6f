// SPDX-License-Identifier: Apache-2.0
#include "tests/kernel/netns/world.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "base/fs.h"
#include "base/process.h"
#include "base/text.h"
#include "netns/internal/scope.h"
#include "tests/support/requires.h"

namespace netns {

using base::Fd;
using base::str;
using internal::Scope;

namespace {

std::string path_of(const Namespace& of) { return str("/proc/", getpid(), "/fd/", of.fd()); }

sockaddr_in socket_address(Ipv4 address, uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  out.sin_addr.s_addr = htonl(address.value);
  return out;
}

const sockaddr* generic(const sockaddr_in& address) {
  const void* const pointer = &address;
  return static_cast<const sockaddr*>(pointer);
}

Fd make_socket(const Client& client, int type) {
  Fd fd = must(internal::open_socket(client.in.fd(), AF_INET, type, 0));
  if (!client.device.empty()) {
    EXPECT_EQ(setsockopt(fd.get(), SOL_SOCKET, SO_BINDTODEVICE, client.device.c_str(),
                         static_cast<socklen_t>(client.device.size())),
              0);
  }
  const sockaddr_in source = socket_address(Ipv4{}, client.source_port);
  EXPECT_EQ(bind(fd.get(), generic(source), sizeof source), 0) << client.source_port;
  return fd;
}

Service serve(const Namespace& in, int type, Ipv4 at, uint16_t port) {
  Fd fd = must(internal::open_socket(in.fd(), AF_INET, type, 0));
  sockaddr_in address = socket_address(at, port);
  EXPECT_EQ(bind(fd.get(), generic(address), sizeof address), 0) << to_string(at);
  socklen_t size = sizeof address;
  void* const pointer = &address;
  EXPECT_EQ(getsockname(fd.get(), static_cast<sockaddr*>(pointer), &size), 0);
  return {std::move(fd), ntohs(address.sin_port)};
}

bool readable(const Fd& fd, std::chrono::milliseconds patience) {
  pollfd poll_fd{.fd = fd.get(), .events = POLLIN, .revents = 0};
  return poll(&poll_fd, 1, static_cast<int>(patience.count())) == 1;
}

int error_of(const Fd& fd) {
  int error = 0;
  socklen_t size = sizeof error;
  EXPECT_EQ(getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size), 0);
  return error;
}

}  // namespace

Ipv4 ip(const char* text) { return must(parse_ipv4(text)); }

Namespace make_namespace() {
  const Fd home = must(base::open_at(AT_FDCWD, "/proc/thread-self/ns/net", O_RDONLY));
  if (unshare(CLONE_NEWNET) != 0) std::abort();
  Namespace made = must(Namespace::current());
  if (setns(home.get(), CLONE_NEWNET) != 0) std::abort();
  run_ip(made, "link set lo up");
  return made;
}

std::string run_ip(const Namespace& in, const std::string& arguments) {
  base::Command command{.path = "/sbin/ip",
                        .args = {"ip"},
                        .env = {},
                        .input = "",
                        .max_output = 1 << 20,
                        .credentials = {}};
  for (const std::string_view argument : base::split(arguments, ' ')) {
    command.args.emplace_back(argument);
  }
  const Scope inside = must(Scope::enter(in.fd()));
  const auto deadline = base::Deadline::after(std::chrono::seconds(10));
  const base::Output output = must(base::run(command, deadline));
  EXPECT_EQ(output.exit_status, 0) << "ip " << arguments;
  return output.out;
}

void add_spare_link(const Namespace& in, const std::string& name, const std::string& mac) {
  run_ip(in, str("link add ", name, " address ", mac, " type veth peer name spare"));
  run_ip(in, "link set spare up");
  run_ip(in, str("link set ", name, " up"));
}

std::string read_in(const Namespace& in, const std::string& path) {
  const Scope inside = must(Scope::enter(in.fd()));
  const std::string text = must(base::read_file(path, 4096));
  return text.substr(0, text.find('\n'));
}

void write_in(const Namespace& in, const std::string& path, const std::string& text) {
  const Scope inside = must(Scope::enter(in.fd()));
  const Fd fd = must(base::open_at(AT_FDCWD, path, O_WRONLY));
  EXPECT_TRUE(base::write_all(fd.get(), text, path).ok());
}

Service serve_tcp(const Namespace& in, Ipv4 at, uint16_t port) {
  Service service = serve(in, SOCK_STREAM, at, port);
  EXPECT_EQ(listen(service.socket.get(), 16), 0);
  return service;
}

Service serve_udp(const Namespace& in, Ipv4 at, uint16_t port) {
  return serve(in, SOCK_DGRAM, at, port);
}

int connect_tcp(const Client& client, Ipv4 to, uint16_t port, std::chrono::milliseconds patience) {
  const Fd fd = make_socket(client, SOCK_STREAM | SOCK_NONBLOCK);
  const sockaddr_in address = socket_address(to, port);
  if (connect(fd.get(), generic(address), sizeof address) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd poll_fd{.fd = fd.get(), .events = POLLOUT, .revents = 0};
  if (poll(&poll_fd, 1, static_cast<int>(patience.count())) != 1) return ETIMEDOUT;
  return error_of(fd);
}

bool send_udp(const Client& client, Ipv4 to, const Service& service) {
  const Fd fd = make_socket(client, SOCK_DGRAM);
  const sockaddr_in address = socket_address(to, service.port);
  if (sendto(fd.get(), "x", 1, 0, generic(address), sizeof address) < 0) return false;
  // A datagram that passes arrives when its neighbour has answered: far below this.
  if (!readable(service.socket, std::chrono::milliseconds(300))) return false;
  char byte = 0;
  return recv(service.socket.get(), &byte, 1, 0) == 1;
}

bool reaches_ipv6(const Namespace& from, const Namespace& to, const char* text) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  EXPECT_EQ(inet_pton(AF_INET6, text, &address.sin6_addr), 1);
  void* const pointer = &address;
  auto* const generic_address = static_cast<sockaddr*>(pointer);
  socklen_t size = sizeof address;
  const Fd server = must(internal::open_socket(to.fd(), AF_INET6, SOCK_STREAM, 0));
  EXPECT_EQ(bind(server.get(), generic_address, size), 0);
  EXPECT_EQ(listen(server.get(), 1), 0);
  EXPECT_EQ(getsockname(server.get(), generic_address, &size), 0);
  const Fd fd = must(internal::open_socket(from.fd(), AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0));
  if (connect(fd.get(), generic_address, size) != 0 && errno != EINPROGRESS) return false;
  return readable(server, std::chrono::milliseconds(300));
}

bool echoes(const Namespace& client, Ipv4 to, const Service& service) {
  const Fd fd = make_socket({client}, SOCK_STREAM | SOCK_NONBLOCK);
  const sockaddr_in address = socket_address(to, service.port);
  if (connect(fd.get(), generic(address), sizeof address) != 0 && errno != EINPROGRESS)
    return false;
  if (!readable(service.socket, kPatience)) return false;
  const Fd accepted(accept4(service.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (send(accepted.get(), "x", 1, MSG_NOSIGNAL) != 1 || !readable(fd, kPatience)) return false;
  char byte = 0;
  return recv(fd.get(), &byte, 1, 0) == 1 && byte == 'x';
}

void World::SetUp() {
  REQUIRES_ROOT();
  host_ = make_namespace();
  fabric_ = make_namespace();
  run_ip(host(), str("link add host0 type veth peer name fab0 netns ", path_of(fabric())));
  run_ip(host(), "link set host0 mtu 4200 up");
  run_ip(host(), str("address add ", to_string(host_address_), "/16 dev host0"));
  for (const Ipv4 endpoint : {own_, other_}) {
    run_ip(fabric(), str("address add ", to_string(endpoint), "/16 dev fab0"));
  }
  run_ip(fabric(), "link set fab0 mtu 4200 up");
  peer_ = serve_tcp(fabric(), own_);
  stranger_ = serve_tcp(fabric(), other_);
}

AttachPlan World::plan(uint8_t n) const {
  AttachPlan plan;
  plan.parent = "host0";
  plan.interface = "roce0";
  plan.mac = MacAddress{{0x02, 0x00, 0x0a, 0x05, 0xc8, n}};
  plan.address = Ipv4{ip("10.5.200.0").value + n};
  plan.peers = {Peer{own_, peer_.port}};
  plan.prohibited = {must(parse_ipv4_prefix("10.5.0.0/16"))};
  return plan;
}

void World::add_docker_network(const Namespace& container, uint8_t n) {
  const std::string net = str("172.30.", n);
  run_ip(host(), str("link add dock", n, " type veth peer name eth0 netns ", path_of(container)));
  run_ip(host(), str("address add ", net, ".1/24 dev dock", n));
  run_ip(host(), str("link set dock", n, " up"));
  run_ip(container, str("address add ", net, ".2/24 dev eth0"));
  run_ip(container, "link set eth0 up");
  run_ip(container, str("route add default via ", net, ".1"));
  run_ip(fabric(), str("route add ", net, ".0/24 via ", to_string(host_address_)));
  write_in(host(), "/proc/sys/net/ipv4/ip_forward", "1");
}

// No link states: they settle by themselves some time after a change.
std::string World::snapshot(const Namespace& of) {
  const std::string table = run_ip(of, "-br link show");
  std::string links;
  for (const std::string_view line : base::split(table, '\n')) {
    links += str(line.substr(0, line.find(' ')), '\n');
  }
  return links + run_ip(of, "-4 -o address show") + run_ip(of, "-4 route show table all");
}

}  // namespace netns
