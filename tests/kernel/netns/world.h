// SPDX-License-Identifier: Apache-2.0
// A host with a RoCE interface, a fabric and containers, each a network namespace of this process.
// They are gone when the test ends, or dies.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/clock.h"
#include "base/fd.h"
#include "netns/attach.h"
#include "netns/namespace.h"

namespace netns {

// The value of RESULT. An error ends the test: GoogleTest reports an exception with its message.
template <typename T>
T must(base::Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.error().message());
  return std::move(result).take();
}

Ipv4 ip(const char* text);

// A new namespace with its loopback up.
Namespace make_namespace();

// Runs /sbin/ip with ARGUMENTS in a namespace; what it printed. A failing command fails the test.
std::string run_ip(const Namespace& in, const std::string& arguments);

// A link that is up and leads nowhere.
void add_spare_link(const Namespace& in, const std::string& name, const std::string& mac);

// The first line of a file, as a process in the namespace reads it.
std::string read_in(const Namespace& in, const std::string& path);
void write_in(const Namespace& in, const std::string& path, const std::string& text);

// A socket that listens, or is bound for datagrams; at a port of the kernel's choice if PORT is 0.
struct Service {
  base::Fd socket;
  uint16_t port;
};
Service serve_tcp(const Namespace& in, Ipv4 at, uint16_t port = 0);
Service serve_udp(const Namespace& in, Ipv4 at, uint16_t port = 0);

// Who makes a connection, and how.
struct Client {
  const Namespace& in;
  std::string device{};      // SO_BINDTODEVICE if not empty
  uint16_t source_port = 0;  // 0: the kernel's choice
};
constexpr std::chrono::milliseconds kPatience{2000};

// The errno of connecting, 0 when it succeeded, ETIMEDOUT after PATIENCE.
int connect_tcp(const Client& client, Ipv4 to, uint16_t port,
                std::chrono::milliseconds patience = kPatience);
// Whether SERVICE gets a datagram that is sent to it.
bool send_udp(const Client& client, Ipv4 to, const Service& service);
// Whether a process in FROM can connect to one in TO, at this IPv6 address.
bool reaches_ipv6(const Namespace& from, const Namespace& to, const char* address);
// Whether the other end of SERVICE's next connection reads what is written there.
bool echoes(const Namespace& client, Ipv4 to, const Service& service);

class World : public testing::Test {
 protected:
  void SetUp() override;

  // A plan for container number N: its own MAC and address, the first endpoint as its peer.
  [[nodiscard]] AttachPlan plan(uint8_t n = 1) const;
  // A second interface, eth0, like docker's: 172.30.N.2, default route by the host (172.30.N.1),
  // which forwards to the fabric.
  void add_docker_network(const Namespace& container, uint8_t n = 1);

  // What of a namespace attach and detach may change, as text.
  static std::string snapshot(const Namespace& of);

  const Namespace& host() const { return *host_; }
  const Namespace& fabric() const { return *fabric_; }

  const Ipv4 own_ = ip("10.5.1.1");    // the endpoint that plan() names
  const Ipv4 other_ = ip("10.5.1.2");  // another tenant's
  const Ipv4 host_address_ = ip("10.5.0.9");
  Service peer_{};      // TCP at own_
  Service stranger_{};  // TCP at other_

 private:
  std::optional<Namespace> host_;
  std::optional<Namespace> fabric_;
};

}  // namespace netns
