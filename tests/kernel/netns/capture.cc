// SPDX-License-Identifier: Apache-2.0
#include "tests/kernel/netns/capture.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <stdexcept>

#include "base/clock.h"
#include "base/text.h"
#include "netns/internal/scope.h"
#include "tests/kernel/netns/sockets.h"

namespace netns {

using base::str;

namespace {

constexpr size_t kArpBytes = 28;
constexpr size_t kIpv4Bytes = 20;
constexpr size_t kIpv6Bytes = 40;
// Bounds a capture of something that never ends.
constexpr std::chrono::seconds kLongest{20};

MacAddress mac_at(std::span<const uint8_t> bytes, size_t offset) {
  MacAddress mac;
  std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(offset), mac.bytes.size(), mac.bytes.begin());
  return mac;
}

Address address_at(std::span<const uint8_t> bytes, size_t offset, size_t size) {
  return from_raw(bytes.subspan(offset, size)).value();
}

uint16_t word_at(std::span<const uint8_t> bytes, size_t offset) {
  return static_cast<uint16_t>(bytes[offset] << 8 | bytes[offset + 1]);
}

void parse_transport(std::span<const uint8_t> bytes, Frame& frame) {
  if (bytes.size() < 4) return;
  if (frame.protocol == IPPROTO_TCP || frame.protocol == IPPROTO_UDP)
    frame.port = word_at(bytes, 2);
  if (frame.protocol == IPPROTO_ICMPV6) frame.icmp_type = bytes[0];
}

void parse_packet(uint16_t type, std::span<const uint8_t> bytes, Frame& frame) {
  if (type == ETHERTYPE_ARP && bytes.size() >= kArpBytes) {
    frame.kind = FrameKind::kArp;
    frame.arp_sender_mac = mac_at(bytes, 8);
    frame.source = address_at(bytes, 14, 4);
    frame.destination = address_at(bytes, 24, 4);
  } else if (type == ETHERTYPE_IP && bytes.size() >= kIpv4Bytes) {
    frame.kind = FrameKind::kIpv4;
    frame.protocol = bytes[9];
    frame.source = address_at(bytes, 12, 4);
    frame.destination = address_at(bytes, 16, 4);
    parse_transport(bytes.subspan(std::min(bytes.size(), size_t{4} * (bytes[0] & 0xf))), frame);
  } else if (type == ETHERTYPE_IPV6 && bytes.size() >= kIpv6Bytes) {
    frame.kind = FrameKind::kIpv6;
    frame.protocol = bytes[6];
    frame.source = address_at(bytes, 8, 16);
    frame.destination = address_at(bytes, 24, 16);
    parse_transport(bytes.subspan(kIpv6Bytes), frame);
  }
}

Frame parse(std::span<const uint8_t> bytes) {
  Frame frame;
  if (bytes.size() < ETHER_HDR_LEN) return frame;
  frame.destination_mac = mac_at(bytes, 0);
  frame.source_mac = mac_at(bytes, 6);
  parse_packet(word_at(bytes, 12), bytes.subspan(ETHER_HDR_LEN), frame);
  return frame;
}

void must_hold(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(str(what, ": ", std::strerror(errno)));
}

int index_of(const base::Fd& socket, const std::string& interface) {
  ifreq request{};
  std::copy(interface.begin(), interface.end(), std::begin(request.ifr_name));
  must_hold(ioctl(socket.get(), SIOCGIFINDEX, &request) == 0, "SIOCGIFINDEX");
  return request.ifr_ifindex;
}

}  // namespace

std::string to_string(const Frame& frame) {
  constexpr std::array kKinds{"ARP", "IPv4", "IPv6", "other"};
  return str(kKinds.at(static_cast<size_t>(frame.kind)), ' ', to_string(frame.source_mac), " > ",
             to_string(frame.destination_mac), ' ', to_string(frame.source), " > ",
             to_string(frame.destination), " protocol ", frame.protocol, " port ", frame.port,
             " ICMPv6 ", frame.icmp_type);
}

Capture::Capture(const Namespace& in, const std::string& interface)
    : socket_(must(internal::open_socket(in.fd(), AF_PACKET, SOCK_RAW, 0))),
      index_(index_of(socket_, interface)) {
  const int bytes = 8 << 20;
  must_hold(setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) == 0,
            "SO_RCVBUFFORCE");
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = index_;
  const void* const pointer = &address;
  must_hold(bind(socket_.get(), static_cast<const sockaddr*>(pointer), sizeof address) == 0,
            "bind");
}

std::vector<Frame> Capture::frames(std::chrono::milliseconds quiet) {
  std::vector<Frame> frames;
  std::array<uint8_t, 9000> buffer{};
  const auto deadline = base::Deadline::after(kLongest);
  pollfd poll_fd{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  while (!deadline.passed() && poll(&poll_fd, 1, static_cast<int>(quiet.count())) == 1) {
    sockaddr_ll from{};
    socklen_t from_size = sizeof from;
    void* const pointer = &from;
    const ssize_t size = recvfrom(socket_.get(), buffer.data(), buffer.size(), 0,
                                  static_cast<sockaddr*>(pointer), &from_size);
    must_hold(size >= 0, "recvfrom");
    if (from.sll_pkttype == PACKET_OUTGOING) continue;
    frames.push_back(parse(std::span(buffer).first(static_cast<size_t>(size))));
  }
  return frames;
}

void Capture::ask(const Address& target, const Address& sender,
                  const MacAddress& sender_mac) const {
  std::vector<uint8_t> bytes(6, 0xff);
  const auto put = [&](std::span<const uint8_t> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
  };
  constexpr std::array<uint8_t, 10> kRequest{0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0, 1};
  put(sender_mac.bytes);
  put(kRequest);
  put(sender_mac.bytes);
  put(sender.raw());
  put(MacAddress{}.bytes);
  put(target.raw());
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_ifindex = index_;
  address.sll_halen = ETHER_ADDR_LEN;
  const void* const pointer = &address;
  must_hold(sendto(socket_.get(), bytes.data(), bytes.size(), 0,
                   static_cast<const sockaddr*>(pointer), sizeof address) > 0,
            "sendto");
}

}  // namespace netns
