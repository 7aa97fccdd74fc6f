// SPDX-License-Identifier: Apache-2.0
// The expressions of a Rule.
#include "netns/internal/nft.h"

// First, so that the kernel's copy of it stands back.
#include <netinet/in.h>

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_tables.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace netns::nft {

using base::quote;
using base::str;
using nl::Message;

namespace {

// Offsets and lengths in the IPv4 header, and in a TCP or UDP header.
constexpr uint32_t kSourceOffset = 12;
constexpr uint32_t kDestinationOffset = 16;
constexpr uint32_t kAddressBytes = 4;
constexpr uint32_t kSourcePortOffset = 0;
constexpr uint32_t kDestinationPortOffset = 2;
constexpr uint32_t kPortBytes = 2;

// All conditions use the first 16-byte register; a port goes into its second 4 bytes.
constexpr uint32_t kRegister = NFT_REG_1;
constexpr uint32_t kSecondWord = NFT_REG32_01;

void put_value(Message& message, int type, const void* value, size_t size) {
  message.nest(type, [&] { message.put_bytes(NFTA_DATA_VALUE, value, size); });
}

}  // namespace

Rule::Rule(const std::string& table, const std::string& chain)
    : message_(request(NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND,
                       str("add filter rule to chain ", quote(chain)), kRequestBytes)) {
  message_.put_text(NFTA_RULE_TABLE, table);
  message_.put_text(NFTA_RULE_CHAIN, chain);
  expressions_ = message_.open_nest(NFTA_RULE_EXPRESSIONS);
}

template <typename Body>
void Rule::expression(const char* name, Body body) {
  message_.nest(NFTA_LIST_ELEM, [&] {
    message_.put_text(NFTA_EXPR_NAME, name);
    message_.nest(NFTA_EXPR_DATA, body);
  });
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

void Rule::mask(uint32_t bits) {
  expression("bitwise", [&] {
    const uint32_t zero = 0;
    message_.put_be32(NFTA_BITWISE_SREG, kRegister);
    message_.put_be32(NFTA_BITWISE_DREG, kRegister);
    message_.put_be32(NFTA_BITWISE_LEN, sizeof bits);
    put_value(message_, NFTA_BITWISE_MASK, &bits, sizeof bits);
    put_value(message_, NFTA_BITWISE_XOR, &zero, sizeof zero);
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

Rule& Rule::leaves_by(const std::string& interface) {
  compare_interface(NFT_META_OIFNAME, interface);
  return *this;
}

Rule& Rule::arrives_by(const std::string& interface) {
  compare_interface(NFT_META_IIFNAME, interface);
  return *this;
}

Rule& Rule::is_ipv4() {
  const uint8_t family = NFPROTO_IPV4;
  load_meta(NFT_META_NFPROTO);
  compare(NFT_CMP_EQ, &family, sizeof family);
  return *this;
}

Rule& Rule::is_protocol(uint8_t protocol) {
  load_meta(NFT_META_L4PROTO);
  compare(NFT_CMP_EQ, &protocol, sizeof protocol);
  return *this;
}

Rule& Rule::is_established() {
  const uint32_t none = 0;
  expression("ct", [&] {
    message_.put_be32(NFTA_CT_KEY, NFT_CT_STATE);
    message_.put_be32(NFTA_CT_DREG, kRegister);
  });
  mask(NF_CT_STATE_BIT(IP_CT_ESTABLISHED) | NF_CT_STATE_BIT(IP_CT_RELATED));
  compare(NFT_CMP_NEQ, &none, sizeof none);
  return *this;
}

Rule& Rule::to_port(uint16_t port) {
  const uint16_t value = htons(port);
  load_packet(NFT_PAYLOAD_TRANSPORT_HEADER, kDestinationPortOffset, kPortBytes, kRegister);
  compare(NFT_CMP_EQ, &value, sizeof value);
  return *this;
}

Rule& Rule::to_network_in(const Set& networks, uint8_t length) {
  load_packet(NFT_PAYLOAD_NETWORK_HEADER, kDestinationOffset, kAddressBytes, kRegister);
  mask(htonl(length == 0 ? 0 : ~uint32_t{0} << (32 - length)));
  look_up(networks);
  return *this;
}

Rule& Rule::to_address_in(const Set& addresses) {
  load_packet(NFT_PAYLOAD_NETWORK_HEADER, kDestinationOffset, kAddressBytes, kRegister);
  look_up(addresses);
  return *this;
}

Rule& Rule::from_address_in(const Set& addresses) {
  load_packet(NFT_PAYLOAD_NETWORK_HEADER, kSourceOffset, kAddressBytes, kRegister);
  look_up(addresses);
  return *this;
}

Rule& Rule::to_endpoint_in(const Set& endpoints) {
  load_packet(NFT_PAYLOAD_NETWORK_HEADER, kDestinationOffset, kAddressBytes, kRegister);
  load_packet(NFT_PAYLOAD_TRANSPORT_HEADER, kDestinationPortOffset, kPortBytes, kSecondWord);
  look_up(endpoints);
  return *this;
}

Rule& Rule::from_endpoint_in(const Set& endpoints) {
  load_packet(NFT_PAYLOAD_NETWORK_HEADER, kSourceOffset, kAddressBytes, kRegister);
  load_packet(NFT_PAYLOAD_TRANSPORT_HEADER, kSourcePortOffset, kPortBytes, kSecondWord);
  look_up(endpoints);
  return *this;
}

void Rule::verdict(uint32_t code) {
  expression("immediate", [&] {
    message_.put_be32(NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
    message_.nest(NFTA_IMMEDIATE_DATA, [&] {
      message_.nest(NFTA_DATA_VERDICT, [&] { message_.put_be32(NFTA_VERDICT_CODE, code); });
    });
  });
}

Message Rule::finish() {
  message_.close_nest(expressions_);
  return std::move(message_);
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
