// SPDX-License-Identifier: Apache-2.0
// What arrives at an interface, frame by frame, as tcpdump would show it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "netns/address.h"
#include "netns/namespace.h"

namespace netns {

enum class FrameKind { kArp, kIpv4, kIpv6, kOther };

struct Frame {
  FrameKind kind = FrameKind::kOther;
  MacAddress destination_mac;
  MacAddress source_mac;
  // Of an ARP packet: who it says has which address, and the address that is asked for.
  MacAddress arp_sender_mac;
  Address source;
  Address destination;
  uint8_t protocol = 0;   // of an IP packet; of IPv6 what follows the fixed header
  uint8_t icmp_type = 0;  // of an ICMPv6 packet
  uint16_t port = 0;      // destination, of TCP and UDP
};
std::string to_string(const Frame& frame);

// All that arrives at an interface from now on, not what is sent by it.
class Capture {
 public:
  Capture(const Namespace& in, const std::string& interface);
  // What has arrived, until nothing does for so long.
  std::vector<Frame> frames(std::chrono::milliseconds quiet);
  // Sends an ARP request for TARGET by the interface, as if from SENDER.
  void ask(const Address& target, const Address& sender, const MacAddress& sender_mac) const;

 private:
  base::Fd socket_;
  int index_ = 0;
};

}  // namespace netns
