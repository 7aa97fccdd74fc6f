// SPDX-License-Identifier: Apache-2.0
// nftables requests: rules, and one batch that changes a table completely or not at all.
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

// A named set of keys that rules look up. A key is what a register holds: an IPv4 address (4
// bytes), or an address and a port (8 bytes, the last two of them 0), in network byte order.
struct Set {
  std::string name;
  uint32_t id = 0;  // within the batch
};
using Keys = std::set<std::vector<uint8_t>>;
std::vector<uint8_t> address_key(Ipv4 address);
std::vector<uint8_t> endpoint_key(Ipv4 address, uint16_t port);

// The type of a set's keys, by nft(8)'s numbers, which it shows them by.
enum class KeyType : uint32_t { kAddress = 7, kEndpoint = 7 << 6 | 13 };

// One rule: conditions, all of which must hold and which are tried in the order of the calls, and
// then what becomes of the packet. Those that look at the packet come after is_ipv4(), those that
// look at a port also after is_protocol().
class Rule {
 public:
  Rule(const std::string& table, const std::string& chain);

  Rule& leaves_by(const std::string& interface);
  Rule& arrives_by(const std::string& interface);
  Rule& is_ipv4();
  Rule& is_protocol(uint8_t protocol);  // IPPROTO_TCP, ...
  Rule& is_established();               // or related, to the connection tracker
  Rule& to_port(uint16_t port);
  Rule& to_network_in(const Set& networks, uint8_t length);  // all of this prefix length
  Rule& to_address_in(const Set& addresses);
  Rule& from_address_in(const Set& addresses);
  Rule& to_endpoint_in(const Set& endpoints);
  Rule& from_endpoint_in(const Set& endpoints);

  nl::Message accept() &&;
  nl::Message drop() &&;
  nl::Message reject() &&;     // ICMP "administratively prohibited" to the sender
  nl::Message reset_tcp() &&;  // after is_protocol(IPPROTO_TCP)

 private:
  template <typename Body>
  void expression(const char* name, Body body);
  void load_meta(uint32_t key);
  void load_packet(uint32_t base, uint32_t offset, uint32_t size, uint32_t into);
  void mask(uint32_t bits);
  void compare(uint32_t operation, const void* value, size_t size);
  void compare_interface(uint32_t key, const std::string& interface);
  void look_up(const Set& set);
  void verdict(uint32_t code);
  nl::Message finish();
  nl::Message message_;
  nlattr* expressions_;
};

enum class IfExists { kFail, kReplace };

// The requests of one transaction on one table of family inet, in order.
class Batch {
 public:
  explicit Batch(std::string table);
  void add_table(IfExists if_exists);
  void remove_table();
  // A base chain of type filter, priority 0, policy accept. HOOK is NF_INET_LOCAL_OUT, ...
  void add_chain(const std::string& chain, uint32_t hook);
  Set add_set(const std::string& name, KeyType type, const Keys& keys);
  void add_rule(nl::Message rule) { messages_.push_back(std::move(rule)); }

  // All of it, or nothing and the error of the first request that failed. Once.
  base::Status commit(const Namespace& in);

 private:
  void make_table(int flags);
  void add_keys(const Set& set, std::span<const std::vector<uint8_t>> keys);
  std::string table_;
  std::vector<nl::Message> messages_;
  uint32_t sets_ = 0;
};

// A request to nf_tables, its fixed header done.
nl::Message request(int type, int flags, std::string what, size_t capacity);
inline constexpr size_t kRequestBytes = 1024;  // enough for any but one with keys

}  // namespace netns::nft
