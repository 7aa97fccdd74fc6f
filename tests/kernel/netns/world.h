// SPDX-License-Identifier: Apache-2.0
// A host with a RoCE interface, a fabric and containers, each a network namespace of this process.
// They are gone when the test ends, or dies.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "netns/attach.h"
#include "netns/namespace.h"
#include "tests/kernel/netns/sockets.h"

namespace netns {

// A new namespace with its loopback up.
Namespace make_namespace();
// The path of a namespace for /sbin/ip.
std::string path_of(const Namespace& of);

// Run a program, /sbin/ip, with ARGUMENTS in a namespace; what it printed. A failing command fails
// the test.
std::string run_tool(const Namespace& in, const std::string& path, const std::string& arguments);
std::string run_ip(const Namespace& in, const std::string& arguments);

// A link that is up and leads nowhere.
void add_spare_link(const Namespace& in, const std::string& name, const std::string& mac);

// The first line of a file, as a process in the namespace reads it.
std::string read_in(const Namespace& in, const std::string& path);
void write_in(const Namespace& in, const std::string& path, const std::string& text);

// As docker does to the namespace of a container.
void turn_off_ipv6(const Namespace& in);
void allow_ping(const Namespace& in);

class World : public testing::Test {
 protected:
  void SetUp() override;

  // A plan for container number N: its own MAC and address, the first endpoint as its peer.
  [[nodiscard]] NetworkPlan plan(uint8_t n = 1) const;
  // The same on an IPv6 rail; add_ipv6() first.
  [[nodiscard]] NetworkPlan ipv6_plan(uint8_t n = 1) const;
  // Gives the fabric the IPv6 endpoints.
  void add_ipv6();
  // A second RoCE interface, host1, with a fabric of its own, which has second_peer_. The rail of
  // container N on it is roce1.
  void add_second_fabric();
  [[nodiscard]] RailPlan second_rail(uint8_t n = 1) const;
  [[nodiscard]] NetworkPlan two_rails(uint8_t n = 1) const;
  // Takes IPv6 from the RoCE interfaces of host and fabric, so that only containers send frames.
  void silence_the_wire();
  // A second interface, eth0, like docker's: 172.30.N.2, default route by the host (172.30.N.1),
  // which forwards to the fabric.
  void add_docker_network(const Namespace& container, uint8_t n = 1);

  // What of a namespace attach and detach may change, as text.
  static std::string snapshot(const Namespace& of);

  const Namespace& host() const { return *host_; }
  const Namespace& fabric() const { return *fabric_; }
  const Namespace& second_fabric() const { return *second_fabric_; }

  const Address own_ = ip("10.5.1.1");    // the endpoint that plan() names
  const Address other_ = ip("10.5.1.2");  // another tenant's
  const Address host_address_ = ip("10.5.0.9");
  const Address own_ipv6_ = ip("fd00:5::1");
  const Address other_ipv6_ = ip("fd00:5::2");
  const Address second_ = ip("10.6.1.1");  // on the second fabric
  Service peer_{};                         // TCP at own_
  Service stranger_{};                     // TCP at other_
  Service ipv6_peer_{};
  Service ipv6_stranger_{};
  Service second_peer_{};

 private:
  std::optional<Namespace> host_;
  std::optional<Namespace> fabric_;
  std::optional<Namespace> second_fabric_;
};

}  // namespace netns
