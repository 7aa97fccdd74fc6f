// SPDX-License-Identifier: Apache-2.0
#include "tests/kernel/netns/frames.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "base/text.h"
#include "netns/internal/scope.h"
#include "tests/kernel/netns/sockets.h"

namespace netns {
namespace {

void require(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(base::str(what, ": ", std::strerror(errno)));
}

Bytes word(uint16_t value) {
  return {static_cast<uint8_t>(value >> 8), static_cast<uint8_t>(value & 0xff)};
}
Bytes raw(const Address& address) { return {address.raw().begin(), address.raw().end()}; }
Bytes raw(const MacAddress& mac) { return {mac.bytes.begin(), mac.bytes.end()}; }

uint16_t checksum(const Bytes& bytes) {
  uint32_t sum = 0;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
    sum += static_cast<uint32_t>(bytes[i] << 8 | bytes[i + 1]);
  }
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

}  // namespace

Bytes operator+(Bytes bytes, const Bytes& more) {
  std::copy(more.begin(), more.end(), std::back_inserter(bytes));
  return bytes;
}

Bytes ethernet(const MacAddress& to, const MacAddress& from, uint16_t type) {
  return raw(to) + raw(from) + word(type);
}

Bytes ipv4_header(const Address& from, const Address& to, uint8_t protocol, uint16_t fragment) {
  constexpr uint16_t kSize = 40;
  Bytes header = Bytes{0x45, 0} + word(kSize) + word(1) + word(fragment) +
                 Bytes{64, protocol, 0, 0} + raw(from) + raw(to);
  const Bytes sum = word(checksum(header));
  std::copy(sum.begin(), sum.end(), header.begin() + 10);
  return header;
}

Bytes ipv6_header(const Address& from, const Address& to, uint8_t protocol, uint16_t size) {
  return Bytes{0x60, 0, 0, 0} + word(size) + Bytes{protocol, 255} + raw(from) + raw(to);
}

Bytes tcp_syn(uint16_t from_port, uint16_t to_port) {
  return word(from_port) + word(to_port) + Bytes{0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 0xff, 0xff} +
         Bytes(4);
}

Bytes udp(uint16_t from_port, uint16_t to_port) {
  return word(from_port) + word(to_port) + word(20) + Bytes(14);
}

Bytes arp(uint8_t operation, const MacAddress& from_mac, const Address& from, const Address& to) {
  return Bytes{0, 1, 8, 0, 6, 4, 0, operation} + raw(from_mac) + raw(from) + Bytes(6) + raw(to) +
         Bytes(18);
}

Bytes discovery(uint8_t type, const Address& target) {
  return Bytes{type, 0, 0, 0, 0, 0, 0, 0} + raw(target) + Bytes(16);
}

RawSender::RawSender(const Namespace& in, const std::string& interface, bool bypass)
    : socket_(must(internal::open_socket(in.fd(), AF_PACKET, SOCK_RAW, 0))) {
  ifreq request{};
  std::copy(interface.begin(), interface.end(), std::begin(request.ifr_name));
  require(ioctl(socket_.get(), SIOCGIFINDEX, &request) == 0, "SIOCGIFINDEX");
  const int on = bypass ? 1 : 0;
  require(setsockopt(socket_.get(), SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof on) == 0,
          "PACKET_QDISC_BYPASS");
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_ifindex = request.ifr_ifindex;
  const void* const pointer = &address;
  require(bind(socket_.get(), static_cast<const sockaddr*>(pointer), sizeof address) == 0, "bind");
}

// A frame that is dropped may be reported: ENOBUFS.
void RawSender::send(const Bytes& frame) const {
  const ssize_t sent = ::send(socket_.get(), frame.data(), frame.size(), 0);
  require(sent > 0 || errno == ENOBUFS || errno == EPERM, "send");
}

}  // namespace netns
