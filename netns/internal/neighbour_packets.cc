// SPDX-License-Identifier: Apache-2.0
#include "netns/internal/neighbour_packets.h"

#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <netinet/in.h>

#include <algorithm>
#include <initializer_list>

namespace netns::internal {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr MacAddress kBroadcast{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
constexpr MacAddress kAllNodes{{0x33, 0x33, 0, 0, 0, 1}};
constexpr uint8_t kSolicitation = 135;
constexpr uint8_t kAdvertisement = 136;
constexpr uint8_t kHopLimit = 255;  // proves that the packet was not forwarded
constexpr uint8_t kTargetMacOption = 2;

// Offsets in a frame.
constexpr size_t kSource = 6;
constexpr size_t kType = 12;
constexpr size_t kPayload = 14;
constexpr size_t kArpOperation = kPayload + 6;
constexpr size_t kArpSenderMac = kPayload + 8;
constexpr size_t kArpSender = kPayload + 14;
constexpr size_t kArpTarget = kPayload + 24;
constexpr size_t kArpEnd = kPayload + 28;
constexpr size_t kIpv6Protocol = kPayload + 6;
constexpr size_t kIpv6HopLimit = kPayload + 7;
constexpr size_t kIpv6Source = kPayload + 8;
constexpr size_t kIcmp = kPayload + 40;
constexpr size_t kIcmpTarget = kIcmp + 8;
constexpr size_t kIcmpOptions = kIcmp + 24;

void append(std::vector<uint8_t>& frame, Bytes bytes) {
  frame.insert(frame.end(), bytes.begin(), bytes.end());
}
void append(std::vector<uint8_t>& frame, std::initializer_list<uint8_t> bytes) {
  frame.insert(frame.end(), bytes);
}
void append_u16(std::vector<uint8_t>& frame, uint32_t value) {
  append(frame, {static_cast<uint8_t>(value >> 8), static_cast<uint8_t>(value)});
}

uint32_t u16_at(Bytes bytes, size_t at) { return uint32_t{bytes[at]} << 8 | bytes[at + 1]; }

bool has_at(Bytes frame, size_t at, Bytes value) {
  return std::ranges::equal(frame.subspan(at, value.size()), value);
}

MacAddress mac_at(Bytes frame, size_t at) {
  MacAddress mac;
  std::copy_n(frame.begin() + static_cast<ptrdiff_t>(at), mac.bytes.size(), mac.bytes.begin());
  return mac;
}

// Returns the multicast address for queries to ADDRESS: ff02::1:ff and its last three bytes.
Address solicited_group(const Address& address) {
  Address group{Family::kIpv6, {0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff}};
  std::copy_n(address.bytes.end() - 3, 3, group.bytes.end() - 3);
  return group;
}

MacAddress mac_of_group(const Address& group) {
  MacAddress mac{{0x33, 0x33}};
  std::copy_n(group.bytes.end() - 4, 4, mac.bytes.begin() + 2);
  return mac;
}

// Returns the RFC 1071 checksum of the pseudo header and the ICMPv6 message at the end of FRAME.
uint32_t checksum(Bytes frame) {
  const size_t length = frame.size() - kIcmp;
  uint32_t sum = static_cast<uint32_t>(length) + IPPROTO_ICMPV6;
  for (size_t i = kIpv6Source; i < frame.size(); i += 2) sum += u16_at(frame, i);
  while (sum > 0xffff) sum = (sum >> 16) + (sum & 0xffff);
  return ~sum & 0xffff;
}

std::vector<uint8_t> arp_probe(const MacAddress& own, const Address& address) {
  std::vector<uint8_t> frame;
  append(frame, kBroadcast.bytes);
  append(frame, own.bytes);
  append_u16(frame, ETH_P_ARP);
  append_u16(frame, ARPHRD_ETHER);
  append_u16(frame, ETH_P_IP);
  append(frame, {ETH_ALEN, sizeof(in_addr)});
  append_u16(frame, ARPOP_REQUEST);
  append(frame, own.bytes);
  append(frame, {0, 0, 0, 0});
  append(frame, MacAddress().bytes);
  append(frame, address.raw());
  return frame;
}

std::vector<uint8_t> solicitation(const MacAddress& own, const Address& address) {
  const Address group = solicited_group(address);
  std::vector<uint8_t> frame;
  append(frame, mac_of_group(group).bytes);
  append(frame, own.bytes);
  append_u16(frame, ETH_P_IPV6);
  append(frame, {0x60, 0, 0, 0});
  append_u16(frame, kIcmpOptions - kIcmp);  // without options
  append(frame, {IPPROTO_ICMPV6, kHopLimit});
  append(frame, in6addr_any.s6_addr);
  append(frame, group.bytes);
  append(frame, {kSolicitation, 0, 0, 0, 0, 0, 0, 0});
  append(frame, address.bytes);
  const uint32_t sum = checksum(frame);
  frame[kIcmp + 2] = static_cast<uint8_t>(sum >> 8);
  frame[kIcmp + 3] = static_cast<uint8_t>(sum);
  return frame;
}

// Accepts any ARP packet from ADDRESS, or another host's probe for it.
std::optional<MacAddress> find_arp_claimant(Bytes frame, const Address& address) {
  if (frame.size() < kArpEnd || u16_at(frame, kType) != ETH_P_ARP) return std::nullopt;
  constexpr std::array<uint8_t, 6> kIpv4OverEthernet{0, ARPHRD_ETHER, 8, 0, ETH_ALEN, 4};
  if (!has_at(frame, kPayload, kIpv4OverEthernet)) return std::nullopt;
  const bool has_it = has_at(frame, kArpSender, address.raw());
  const bool probes_it = u16_at(frame, kArpOperation) == ARPOP_REQUEST &&
                         has_at(frame, kArpSender, Address().raw()) &&
                         has_at(frame, kArpTarget, address.raw());
  if (!has_it && !probes_it) return std::nullopt;
  return mac_at(frame, kArpSenderMac);
}

// Returns the MAC in an option of an advertisement, or nothing.
std::optional<MacAddress> find_target_mac(Bytes frame) {
  constexpr size_t kUnit = 8;  // unit of an option's length
  for (size_t at = kIcmpOptions; at + kUnit <= frame.size();) {
    if (frame[at] == kTargetMacOption && frame[at + 1] == 1) return mac_at(frame, at + 2);
    if (frame[at + 1] == 0) break;
    at += kUnit * frame[at + 1];
  }
  return std::nullopt;
}

// Accepts an advertisement of ADDRESS, or another host's duplicate address detection for it.
std::optional<MacAddress> find_ipv6_claimant(Bytes frame, const Address& address) {
  if (frame.size() < kIcmpOptions || u16_at(frame, kType) != ETH_P_IPV6) return std::nullopt;
  if (frame[kIpv6Protocol] != IPPROTO_ICMPV6 || frame[kIpv6HopLimit] != kHopLimit ||
      !has_at(frame, kIcmpTarget, address.bytes)) {
    return std::nullopt;
  }
  if (frame[kIcmp] == kAdvertisement) {
    return find_target_mac(frame).value_or(mac_at(frame, kSource));
  }
  const bool probes_it =
      frame[kIcmp] == kSolicitation && has_at(frame, kIpv6Source, in6addr_any.s6_addr);
  return probes_it ? std::optional(mac_at(frame, kSource)) : std::nullopt;
}

}  // namespace

std::vector<uint8_t> probe_frame(const MacAddress& own, const Address& address) {
  return address.is_ipv4() ? arp_probe(own, address) : solicitation(own, address);
}

std::optional<MacAddress> find_claimant(Bytes frame, const Address& address,
                                        const MacAddress& own) {
  const std::optional<MacAddress> claimant =
      address.is_ipv4() ? find_arp_claimant(frame, address) : find_ipv6_claimant(frame, address);
  return claimant == own ? std::nullopt : claimant;
}

std::vector<MacAddress> groups_of(const Address& address) {
  if (address.is_ipv4()) return {};  // answers are unicast, and probes broadcast
  return {kAllNodes, mac_of_group(solicited_group(address))};
}

}  // namespace netns::internal
