// SPDX-License-Identifier: Apache-2.0
// The expressions of a Rule.
#include "netns/internal/nft.h"

// First, so that the kernel's own definitions give way.
#include <netinet/in.h>

#include <arpa/inet.h>
#include <linux/if.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_conntrack_tuple_common.h>
#include <linux/netfilter/nf_tables.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/names.h"
#include "base/text.h"
#include "netns/internal/nft_expression.h"

namespace netns::nft {

using namespace base::names;
using nl::Message;

namespace {

// The offsets of addresses in each family's header, ports in that of TCP or UDP, and the type in
// that of ICMP.
struct AddressOffsets {
  uint32_t source;
  uint32_t destination;
  uint32_t size;
};
constexpr AddressOffsets kIpv4Offsets{12, 16, 4};
constexpr AddressOffsets kIpv6Offsets{8, 24, 16};
constexpr uint32_t kSourcePortOffset = 0;
constexpr uint32_t kDestinationPortOffset = 2;
constexpr uint32_t kPortBytes = 2;
constexpr uint32_t kIcmpTypeOffset = 0;
constexpr uint32_t kSolicitedOffset = 8;  // RFC 4861, section 4.3
// ARP for Ethernet and IPv4: RFC 826.
constexpr uint32_t kArpOperationOffset = 6;
constexpr uint32_t kArpSenderOffset = 14;
constexpr uint32_t kArpTargetOffset = 24;

// All conditions use the first 16-byte register; an endpoint's port goes into the word after the
// address.
constexpr uint32_t kRegister = NFT_REG_1;
constexpr uint32_t kWordAfterIpv4 = NFT_REG32_01;
constexpr uint32_t kWordAfterIpv6 = NFT_REG32_04;

// Returns the bytes of a mask with LENGTH leading ones.
std::vector<uint8_t> mask_of(Family family, uint8_t length) {
  std::vector<uint8_t> bits(family == Family::kIpv4 ? 4 : 16);
  for (uint8_t i = 0; i < length; ++i) {
    bits[i / 8] = static_cast<uint8_t>(bits[i / 8] | 0x80 >> i % 8);
  }
  return bits;
}

// The register holds the value in the machine's own byte order.
std::vector<uint8_t> bytes_of(uint32_t value) {
  std::vector<uint8_t> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

void put_value(Message& message, int type, const void* value, size_t size) {
  message.nest(type, [&] { message.put_bytes(NFTA_DATA_VALUE, value, size); });
}

}  // namespace

Rule::Rule(const Table& table, const std::string& chain)
    : message_(request(NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND, table.family,
                       str("add filter rule to chain ", quote(chain)), kRequestBytes)) {
  message_.put_text(NFTA_RULE_TABLE, table.name);
  message_.put_text(NFTA_RULE_CHAIN, chain);
  expressions_ = message_.open_nest(NFTA_RULE_EXPRESSIONS);
}

void Rule::load_meta(uint32_t key) {
  expression("meta", [&] {
    message_.put_be32(NFTA_META_KEY, key);
    message_.put_be32(NFTA_META_DREG, kRegister);
  });
}

void Rule::load_packet(uint32_t base, uint32_t offset, uint32_t size, uint32_t into) {
  expression("payload", [&] {
    message_.put_be32(NFTA_PAYLOAD_DREG, into);
    message_.put_be32(NFTA_PAYLOAD_BASE, base);
    message_.put_be32(NFTA_PAYLOAD_OFFSET, offset);
    message_.put_be32(NFTA_PAYLOAD_LEN, size);
  });
}

void Rule::load_address(End end, Family family) {
  const AddressOffsets& at = family == Family::kIpv4 ? kIpv4Offsets : kIpv6Offsets;
  const uint32_t offset = end == End::kSource ? at.source : at.destination;
  load_packet(NFT_PAYLOAD_NETWORK_HEADER, offset, at.size, kRegister);
}

void Rule::load_port(End end, uint32_t into) {
  const uint32_t offset = end == End::kSource ? kSourcePortOffset : kDestinationPortOffset;
  load_packet(NFT_PAYLOAD_TRANSPORT_HEADER, offset, kPortBytes, into);
}

void Rule::mask(const std::vector<uint8_t>& bits) {
  expression("bitwise", [&] {
    const std::vector<uint8_t> zero(bits.size());
    message_.put_be32(NFTA_BITWISE_SREG, kRegister);
    message_.put_be32(NFTA_BITWISE_DREG, kRegister);
    message_.put_be32(NFTA_BITWISE_LEN, static_cast<uint32_t>(bits.size()));
    put_value(message_, NFTA_BITWISE_MASK, bits.data(), bits.size());
    put_value(message_, NFTA_BITWISE_XOR, zero.data(), zero.size());
  });
}

void Rule::compare(uint32_t operation, const void* value, size_t size) {
  expression("cmp", [&] {
    message_.put_be32(NFTA_CMP_SREG, kRegister);
    message_.put_be32(NFTA_CMP_OP, operation);
    put_value(message_, NFTA_CMP_DATA, value, size);
  });
}

void Rule::compare_interface(uint32_t key, const std::string& interface) {
  std::array<char, IFNAMSIZ> name{};
  std::copy_n(interface.begin(), std::min(interface.size(), name.size() - 1), name.begin());
  load_meta(key);
  compare(NFT_CMP_EQ, name.data(), name.size());
}

void Rule::look_up(const Set& set) {
  expression("lookup", [&] {
    message_.put_text(NFTA_LOOKUP_SET, set.name);
    message_.put_be32(NFTA_LOOKUP_SET_ID, set.id);
    message_.put_be32(NFTA_LOOKUP_SREG, kRegister);
  });
}

// The kernel gives the user of a socket only to rules in the socket's own namespace. Otherwise the
// condition is false.
Rule& Rule::is_of_own_socket() {
  const uint32_t any = 0;
  load_meta(NFT_META_SKUID);
  compare(NFT_CMP_GTE, &any, sizeof any);
  return *this;
}

Rule& Rule::count() {
  expression("counter", [] {});
  return *this;
}

Rule& Rule::remember(const Set& set, Field field) {
  load_frame({field});
  expression("dynset", [&] {
    message_.put_text(NFTA_DYNSET_SET_NAME, set.name);
    message_.put_be32(NFTA_DYNSET_SET_ID, set.id);
    message_.put_be32(NFTA_DYNSET_OP, NFT_DYNSET_OP_ADD);
    message_.put_be32(NFTA_DYNSET_SREG_KEY, kRegister);
  });
  return *this;
}

Rule& Rule::comment(const std::string& text) {
  comment_ = text;
  return *this;
}

Rule& Rule::leaves_by(const std::string& interface) {
  compare_interface(NFT_META_OIFNAME, interface);
  return *this;
}

Rule& Rule::arrives_by(const std::string& interface) {
  compare_interface(NFT_META_IIFNAME, interface);
  return *this;
}

Rule& Rule::is_family(Family family) {
  const uint8_t protocol = family == Family::kIpv4 ? NFPROTO_IPV4 : NFPROTO_IPV6;
  load_meta(NFT_META_NFPROTO);
  compare(NFT_CMP_EQ, &protocol, sizeof protocol);
  return *this;
}

Rule& Rule::is_protocol(uint8_t protocol) {
  load_meta(NFT_META_L4PROTO);
  compare(NFT_CMP_EQ, &protocol, sizeof protocol);
  return *this;
}

Rule& Rule::is_established() {
  constexpr uint32_t kBits = NF_CT_STATE_BIT(IP_CT_ESTABLISHED) | NF_CT_STATE_BIT(IP_CT_RELATED);
  const uint32_t none = 0;
  expression("ct", [&] {
    message_.put_be32(NFTA_CT_KEY, NFT_CT_STATE);
    message_.put_be32(NFTA_CT_DREG, kRegister);
  });
  mask(bytes_of(kBits));
  compare(NFT_CMP_NEQ, &none, sizeof none);
  return *this;
}

Rule& Rule::is_answer() {
  const uint8_t reply = IP_CT_DIR_REPLY;
  expression("ct", [&] {
    message_.put_be32(NFTA_CT_KEY, NFT_CT_DIRECTION);
    message_.put_be32(NFTA_CT_DREG, kRegister);
  });
  compare(NFT_CMP_EQ, &reply, sizeof reply);
  return *this;
}

Rule& Rule::compare_network(End end, const Prefix& prefix) {
  const Family family = prefix.address.family;
  is_family(family).load_address(end, family);
  mask(mask_of(family, prefix.length));
  compare(NFT_CMP_EQ, prefix.address.raw().data(), prefix.address.raw().size());
  return *this;
}

Rule& Rule::from_network(const Prefix& prefix) { return compare_network(End::kSource, prefix); }

Rule& Rule::to_network(const Prefix& prefix) { return compare_network(End::kDestination, prefix); }

Rule& Rule::has_header(uint8_t header) {
  const uint8_t present = 1;
  expression("exthdr", [&] {
    message_.put_be32(NFTA_EXTHDR_DREG, kRegister);
    message_.put_u8(NFTA_EXTHDR_TYPE, header);
    message_.put_be32(NFTA_EXTHDR_OFFSET, 0);
    message_.put_be32(NFTA_EXTHDR_LEN, 1);
    message_.put_be32(NFTA_EXTHDR_FLAGS, NFT_EXTHDR_F_PRESENT);
  });
  compare(NFT_CMP_EQ, &present, sizeof present);
  return *this;
}

Rule& Rule::has_icmp_type(uint8_t first, uint8_t last) {
  load_packet(NFT_PAYLOAD_TRANSPORT_HEADER, kIcmpTypeOffset, sizeof first, kRegister);
  compare(NFT_CMP_GTE, &first, sizeof first);
  compare(NFT_CMP_LTE, &last, sizeof last);
  return *this;
}

Rule& Rule::solicits_in(const Set& addresses) {
  load_packet(NFT_PAYLOAD_TRANSPORT_HEADER, kSolicitedOffset, kIpv6Offsets.size, kRegister);
  look_up(addresses);
  return *this;
}

Rule& Rule::is_arp(uint16_t operation) {
  const uint16_t value = htons(operation);
  load_packet(NFT_PAYLOAD_NETWORK_HEADER, kArpOperationOffset, sizeof value, kRegister);
  compare(NFT_CMP_EQ, &value, sizeof value);
  return *this;
}

Rule& Rule::arp_sender_is(const Address& address) {
  load_packet(NFT_PAYLOAD_NETWORK_HEADER, kArpSenderOffset, kIpv4Offsets.size, kRegister);
  compare(NFT_CMP_EQ, address.raw().data(), kIpv4Offsets.size);
  return *this;
}

Rule& Rule::arp_target_is(const Address& address) {
  load_packet(NFT_PAYLOAD_NETWORK_HEADER, kArpTargetOffset, kIpv4Offsets.size, kRegister);
  compare(NFT_CMP_EQ, address.raw().data(), kIpv4Offsets.size);
  return *this;
}

Rule& Rule::arp_target_in(const Set& addresses) {
  load_packet(NFT_PAYLOAD_NETWORK_HEADER, kArpTargetOffset, kIpv4Offsets.size, kRegister);
  look_up(addresses);
  return *this;
}

void Rule::compare_address(End end, const Address& address) {
  load_address(end, address.family);
  compare(NFT_CMP_EQ, address.raw().data(), address.raw().size());
}

Rule& Rule::from_address(const Address& address) {
  compare_address(End::kSource, address);
  return *this;
}

Rule& Rule::to_address(const Address& address) {
  compare_address(End::kDestination, address);
  return *this;
}

Rule& Rule::to_port(uint16_t port) {
  const uint16_t value = htons(port);
  load_port(End::kDestination, kRegister);
  compare(NFT_CMP_EQ, &value, sizeof value);
  return *this;
}

Rule& Rule::to_address_in(const Set& addresses) {
  load_address(End::kDestination, addresses.family);
  look_up(addresses);
  return *this;
}

Rule& Rule::from_address_in(const Set& addresses) {
  load_address(End::kSource, addresses.family);
  look_up(addresses);
  return *this;
}

void Rule::look_up_endpoint(End end, const Set& endpoints) {
  load_address(end, endpoints.family);
  load_port(end, endpoints.family == Family::kIpv4 ? kWordAfterIpv4 : kWordAfterIpv6);
  look_up(endpoints);
}

Rule& Rule::to_endpoint_in(const Set& endpoints) {
  look_up_endpoint(End::kDestination, endpoints);
  return *this;
}

Rule& Rule::from_endpoint_in(const Set& endpoints) {
  look_up_endpoint(End::kSource, endpoints);
  return *this;
}

void Rule::verdict(uint32_t code, const std::string& chain) {
  expression("immediate", [&] {
    message_.put_be32(NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
    message_.nest(NFTA_IMMEDIATE_DATA, [&] {
      message_.nest(NFTA_DATA_VERDICT, [&] {
        message_.put_be32(NFTA_VERDICT_CODE, code);
        if (!chain.empty()) message_.put_text(NFTA_VERDICT_CHAIN, chain);
      });
    });
  });
}

Message Rule::finish() {
  message_.close_nest(expressions_);
  if (!comment_.empty()) {
    const std::vector<uint8_t> data = to_user_data(comment_);
    message_.put_bytes(NFTA_RULE_USERDATA, data.data(), data.size());
  }
  return std::move(message_);
}

Message Rule::done() && { return finish(); }

Message Rule::jump(const std::string& chain) && {
  verdict(static_cast<uint32_t>(NFT_JUMP), chain);
  return finish();
}

Message Rule::accept() && {
  verdict(NF_ACCEPT);
  return finish();
}

Message Rule::drop() && {
  verdict(NF_DROP);
  return finish();
}

Message Rule::reject() && {
  expression("reject", [&] {
    message_.put_be32(NFTA_REJECT_TYPE, NFT_REJECT_ICMPX_UNREACH);
    message_.put_u8(NFTA_REJECT_ICMP_CODE, NFT_REJECT_ICMPX_ADMIN_PROHIBITED);
  });
  return finish();
}

Message Rule::reset_tcp() && {
  expression("reject", [&] { message_.put_be32(NFTA_REJECT_TYPE, NFT_REJECT_TCP_RST); });
  return finish();
}

}  // namespace netns::nft
