// SPDX-License-Identifier: Apache-2.0
#include "tests/kernel/netns/world.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/process.h"
#include "base/text.h"
#include "netns/internal/scope.h"
#include "tests/support/requires.h"

namespace netns {

using base::Fd;
using base::str;
using internal::Scope;

Namespace make_namespace() {
  const Fd home = must(base::open_at(AT_FDCWD, "/proc/thread-self/ns/net", O_RDONLY));
  if (unshare(CLONE_NEWNET) != 0) std::abort();
  Namespace made = must(Namespace::current());
  if (setns(home.get(), CLONE_NEWNET) != 0) std::abort();
  run_ip(made, "link set lo up");
  return made;
}

std::string path_of(const Namespace& of) { return str("/proc/", getpid(), "/fd/", of.fd()); }

std::string run_tool(const Namespace& in, const std::string& path, const std::string& arguments) {
  base::Command command{.path = path,
                        .args = {path},
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
  EXPECT_EQ(output.exit_status, 0) << path << ' ' << arguments;
  return output.out;
}

std::string run_ip(const Namespace& in, const std::string& arguments) {
  return run_tool(in, "/sbin/ip", arguments);
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

void turn_off_ipv6(const Namespace& in) {
  for (const char* scope : {"all", "default", "lo"}) {
    write_in(in, str("/proc/sys/net/ipv6/conf/", scope, "/disable_ipv6"), "1");
  }
}

void allow_ping(const Namespace& in) {
  write_in(in, "/proc/sys/net/ipv4/ping_group_range", "0 2147483647");
}

void World::SetUp() {
  REQUIRES_ROOT();
  host_ = make_namespace();
  fabric_ = make_namespace();
  run_ip(host(), str("link add host0 type veth peer name fab0 netns ", path_of(fabric())));
  // The other end is up first: the link then has its carrier at once, and the kernel marks no route
  // linkdown.
  run_ip(fabric(), "link set fab0 mtu 4200 up");
  run_ip(host(), "link set host0 mtu 4200 up");
  run_ip(host(), str("address add ", to_string(host_address_), "/16 dev host0"));
  for (const Address& endpoint : {own_, other_}) {
    run_ip(fabric(), str("address add ", to_string(endpoint), "/16 dev fab0"));
  }
  peer_ = serve_tcp(fabric(), own_);
  stranger_ = serve_tcp(fabric(), other_);
}

NetworkPlan World::plan(uint8_t n) const {
  RailPlan rail;
  rail.parent = "host0";
  rail.interface = "roce0";
  rail.mac = MacAddress{{0x02, 0x00, 0x0a, 0x05, 0xc8, n}};
  rail.address = ip(str("10.5.200.", n).c_str());
  rail.peers = {Peer{own_, peer_.port}};
  NetworkPlan plan;
  plan.rails = {rail};
  plan.prohibited = {must(parse_prefix("10.5.0.0/16"))};
  return plan;
}

NetworkPlan World::ipv6_plan(uint8_t n) const {
  NetworkPlan ipv6 = plan(n);
  ipv6.rails[0].address = ip(str("fd00:5::c8:", n).c_str());
  ipv6.rails[0].peers = {Peer{own_ipv6_, ipv6_peer_.port}};
  ipv6.prohibited = {must(parse_prefix("fd00:5::/64"))};
  return ipv6;
}

void World::add_ipv6() {
  for (const Address& endpoint : {own_ipv6_, other_ipv6_}) {
    run_ip(fabric(), str("-6 address add ", to_string(endpoint), "/64 dev fab0 nodad"));
  }
  ipv6_peer_ = serve_tcp(fabric(), own_ipv6_);
  ipv6_stranger_ = serve_tcp(fabric(), other_ipv6_);
}

void World::add_second_fabric() {
  second_fabric_ = make_namespace();
  run_ip(host(), str("link add host1 type veth peer name fab1 netns ", path_of(second_fabric())));
  run_ip(second_fabric(), "link set fab1 up");
  run_ip(host(), "link set host1 up");
  run_ip(second_fabric(), str("address add ", to_string(second_), "/16 dev fab1"));
  second_peer_ = serve_tcp(second_fabric(), second_);
}

void World::silence_the_wire() {
  write_in(host(), "/proc/sys/net/ipv6/conf/host0/disable_ipv6", "1");
  write_in(fabric(), "/proc/sys/net/ipv6/conf/fab0/disable_ipv6", "1");
  if (!second_fabric_.has_value()) return;
  write_in(host(), "/proc/sys/net/ipv6/conf/host1/disable_ipv6", "1");
  write_in(second_fabric(), "/proc/sys/net/ipv6/conf/fab1/disable_ipv6", "1");
}

RailPlan World::second_rail(uint8_t n) const {
  RailPlan rail;
  rail.parent = "host1";
  rail.interface = "roce1";
  rail.mac = MacAddress{{0x02, 0x00, 0x0a, 0x06, 0xc8, n}};
  rail.address = ip(str("10.6.200.", n).c_str());
  rail.peers = {Peer{second_, second_peer_.port}};
  return rail;
}

NetworkPlan World::two_rails(uint8_t n) const {
  NetworkPlan both = plan(n);
  both.rails.push_back(second_rail(n));
  both.prohibited.push_back(must(parse_prefix("10.6.0.0/16")));
  return both;
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

// No link states and no IPv6 routes of the kernel: they settle by themselves some time after a
// change.
std::string World::snapshot(const Namespace& of) {
  const std::string table = run_ip(of, "-br link show");
  std::string links;
  for (const std::string_view line : base::split(table, '\n')) {
    links += str(line.substr(0, line.find(' ')), '\n');
  }
  return links + run_ip(of, "-4 -o address show") + run_ip(of, "-4 route show table all") +
         run_ip(of, "-6 route show table all proto static") + run_ip(of, "-4 rule show") +
         run_ip(of, "-6 rule show");
}

}  // namespace netns
