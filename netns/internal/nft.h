// SPDX-License-Identifier: Apache-2.0
// nftables requests: rules, and batches that change a table completely or not at all.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "netns/address.h"
#include "netns/internal/nl.h"
#include "netns/namespace.h"

namespace netns::nft {

// A table of one family: NFPROTO_INET, NFPROTO_ARP.
struct Table {
  uint8_t family;
  const char* name;
};

// The kind of a set's keys: an address, or an address and a port (a whole word), in network byte
// order, as a register holds it. nft(8) displays keys by this kind.
enum class KeyKind { kAddress, kEndpoint };
using Keys = std::set<std::vector<uint8_t>>;
std::vector<uint8_t> address_key(const Address& address);
std::vector<uint8_t> endpoint_key(const Address& address, uint16_t port);

// A named set of keys of one family, which the rules of its table look up.
struct Set {
  std::string name;
  uint32_t id = 0;  // unique within the batch
  Family family = Family::kIpv4;
};

// One rule: conditions, tested in the order of the calls, all of which must hold, and then the
// verdict. Conditions on an address come after is_family(). Conditions on a port or an ICMP type
// come after is_protocol() as well.
class Rule {
 public:
  Rule(const Table& table, const std::string& chain);

  Rule& leaves_by(const std::string& interface);
  Rule& arrives_by(const std::string& interface);
  Rule& is_family(Family family);
  Rule& is_protocol(uint8_t protocol);  // IPPROTO_TCP, ...
  Rule& is_established();               // or related, by connection tracking
  Rule& has_header(uint8_t header);     // an IPv6 extension header
  Rule& has_icmp_type(uint8_t first, uint8_t last);
  Rule& solicits_in(const Set& addresses);  // after has_icmp_type(ND_NEIGHBOR_SOLICIT)
  Rule& from_address(const Address& address);
  Rule& to_address(const Address& address);
  Rule& to_port(uint16_t port);
  Rule& to_network_in(const Set& networks, uint8_t length);  // all of this prefix length
  Rule& to_address_in(const Set& addresses);
  Rule& from_address_in(const Set& addresses);
  Rule& to_endpoint_in(const Set& endpoints);
  Rule& from_endpoint_in(const Set& endpoints);
  // Conditions on ARP over Ethernet for IPv4, in a table of NFPROTO_ARP: ARPOP_REQUEST, ...
  Rule& is_arp(uint16_t operation);
  Rule& arp_sender_is(const Address& address);
  Rule& arp_target_is(const Address& address);
  Rule& arp_target_in(const Set& addresses);

  nl::Message accept() &&;
  nl::Message drop() &&;
  nl::Message reject() &&;     // ICMP "administratively prohibited" to the sender
  nl::Message reset_tcp() &&;  // after is_protocol(IPPROTO_TCP)

 private:
  enum class End { kSource, kDestination };
  template <typename Body>
  void expression(const char* name, Body body);
  void load_meta(uint32_t key);
  void load_packet(uint32_t base, uint32_t offset, uint32_t size, uint32_t into);
  void load_address(End end, Family family);
  void load_port(End end, uint32_t into);
  void mask(const std::vector<uint8_t>& bits);
  void compare(uint32_t operation, const void* value, size_t size);
  void compare_interface(uint32_t key, const std::string& interface);
  void compare_address(End end, const Address& address);
  void look_up(const Set& set);
  void look_up_endpoint(End end, const Set& endpoints);
  void verdict(uint32_t code);
  nl::Message finish();
  nl::Message message_;
  nlattr* expressions_;
};

enum class IfExists { kFail, kReplace };

// The requests of one transaction, in order.
class Batch {
 public:
  Batch();
  void add_table(const Table& table, IfExists if_exists);
  void remove_table(const Table& table);
  // Adds a base chain of type filter, priority 0, policy accept. HOOK is NF_INET_LOCAL_OUT, ...
  void add_chain(const Table& table, const std::string& chain, uint32_t hook);
  Set add_set(const Table& table, const std::string& name, KeyKind kind, Family family,
              const Keys& keys);
  void add_rule(nl::Message rule) { messages_.push_back(std::move(rule)); }

  // Commits all requests, or none and returns the error of the first failed request. Call it once.
  base::Status commit(const Namespace& in);

 private:
  void make_table(const Table& table, int flags);
  void add_keys(const Table& table, const Set& set, std::span<const std::vector<uint8_t>> keys);
  std::vector<nl::Message> messages_;
  uint32_t sets_ = 0;
};

// Makes a request to nf_tables about FAMILY, with its fixed header complete.
nl::Message request(int type, int flags, uint8_t family, std::string what, size_t capacity);
inline constexpr size_t kRequestBytes = 1024;  // enough for any request without keys

}  // namespace netns::nft
