// SPDX-License-Identifier: Apache-2.0
// Frames made by hand, as a process with CAP_NET_RAW sends them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "netns/address.h"
#include "netns/namespace.h"

namespace netns {

using Bytes = std::vector<uint8_t>;

inline constexpr MacAddress kBroadcast{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

// Appends MORE to BYTES.
Bytes operator+(Bytes bytes, const Bytes& more);
Bytes ethernet(const MacAddress& to, const MacAddress& from, uint16_t type);
// A header without options. FRAGMENT: flags and offset.
Bytes ipv4_header(const Address& from, const Address& to, uint8_t protocol, uint16_t fragment = 0);
Bytes ipv6_header(const Address& from, const Address& to, uint8_t protocol, uint16_t size = 40);
Bytes tcp_syn(uint16_t from_port, uint16_t to_port);
Bytes udp(uint16_t from_port, uint16_t to_port);
Bytes arp(uint8_t operation, const MacAddress& from_mac, const Address& from, const Address& to);
// Neighbour solicitation (135) or advertisement (136), without options.
Bytes discovery(uint8_t type, const Address& target);

// A packet socket of an interface.
class RawSender {
 public:
  // BYPASS: frames pass by the queue of the interface (PACKET_QDISC_BYPASS).
  RawSender(const Namespace& in, const std::string& interface, bool bypass = false);
  void send(const Bytes& frame) const;

 private:
  base::Fd socket_;
};

}  // namespace netns
