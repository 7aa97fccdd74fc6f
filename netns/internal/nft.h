// SPDX-License-Identifier: Apache-2.0
// nftables requests: rules, and batches that change a table completely or not at all.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "netns/address.h"
#include "netns/internal/frame.h"
#include "netns/internal/nl.h"
#include "netns/namespace.h"

namespace netns::nft {

// A table of one family: NFPROTO_INET, NFPROTO_ARP, NFPROTO_NETDEV.
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

// The type of the keys of a set: how nft(8) displays them, and their length. A key of several parts
// has each part in whole words of four bytes.
struct KeyType {
  uint32_t display = 0;
  uint32_t bytes = 0;
};
// The parts of a key.
inline constexpr KeyType kMacPart{9, 6};
inline constexpr KeyType kIpv4Part{7, 4};
inline constexpr KeyType kIpv6Part{8, 16};
inline constexpr KeyType kPortPart{13, 2};
// Returns the type of a key of PARTS, one after the other.
KeyType key_of(const std::vector<KeyType>& parts);

// Returns the user data that holds COMMENT, as nft(8) reads it.
std::vector<uint8_t> to_user_data(const std::string& comment);

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
  Rule& is_protocol(uint8_t protocol);       // IPPROTO_TCP, ...
  Rule& is_established();                    // or related, by connection tracking
  Rule& is_answer();                         // to the side that opened the connection
  Rule& has_wrong_origin();                  // its source is not routed to where it comes from
  Rule& from_network(const Prefix& prefix);  // and of its family
  Rule& to_network(const Prefix& prefix);
  Rule& has_header(uint8_t header);  // an IPv6 extension header
  Rule& has_icmp_type(uint8_t first, uint8_t last);
  Rule& solicits_in(const Set& addresses);  // after has_icmp_type(ND_NEIGHBOR_SOLICIT)
  Rule& from_address(const Address& address);
  Rule& to_address(const Address& address);
  Rule& to_port(uint16_t port);
  Rule& to_address_in(const Set& addresses);
  Rule& from_address_in(const Set& addresses);
  Rule& to_endpoint_in(const Set& endpoints);
  Rule& from_endpoint_in(const Set& endpoints);
  // Conditions on ARP over Ethernet for IPv4, in a table of NFPROTO_ARP: ARPOP_REQUEST, ...
  Rule& is_arp(uint16_t operation);
  Rule& arp_sender_is(const Address& address);
  Rule& arp_target_is(const Address& address);
  Rule& arp_target_in(const Set& addresses);

  // Conditions on a frame, in a table of NFPROTO_NETDEV. They do not depend on the headers that the
  // kernel found in the frame.
  Rule& frame_is(Field field, const std::vector<uint8_t>& bits,  // these bits are VALUE
                 const std::vector<uint8_t>& value);
  Rule& frame_between(Field field, uint8_t first, uint8_t last);  // one byte
  Rule& frame_in(const Set& set, const std::vector<Field>& parts);
  Rule& is_of_own_socket();  // a socket of this namespace, not of a container, sends the frame

  Rule& count();                                // packets and bytes
  Rule& remember(const Set& set, Field field);  // adds it to a set of kGrowing
  Rule& comment(const std::string& text);       // for nft(8), at most 120 bytes; comes last

  nl::Message done() &&;  // no verdict: the next rule decides
  nl::Message jump(const std::string& chain) &&;
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
  Rule& compare_network(End end, const Prefix& prefix);
  void look_up(const Set& set);
  void look_up_endpoint(End end, const Set& endpoints);
  void load_frame(const std::vector<Field>& parts);
  void verdict(uint32_t code, const std::string& chain = "");
  nl::Message finish();
  nl::Message message_;
  nlattr* expressions_;
  std::string comment_;
};

enum class IfExists { kFail, kReplace };

// Whether rules add keys to a set.
enum class Growth { kFixed, kGrowing };

// The requests of one transaction, in order.
class Batch {
 public:
  Batch();
  void add_table(const Table& table, IfExists if_exists);
  void remove_table(const Table& table);
  // Adds a base chain of type filter, priority 0, policy accept. HOOK is NF_INET_LOCAL_OUT, ...
  void add_chain(const Table& table, const std::string& chain, uint32_t hook);
  // Adds a chain to jump to.
  void add_chain(const Table& table, const std::string& chain);
  // Adds a base chain of a table of NFPROTO_NETDEV, or a chain to jump to if DEVICE is empty. HOOK
  // is NF_NETDEV_INGRESS or NF_NETDEV_EGRESS of DEVICE. nft(8) displays COMMENT.
  void add_device_chain(const Table& table, const std::string& chain, uint32_t hook,
                        const std::string& device, const std::string& comment);
  Set add_set(const Table& table, const std::string& name, KeyKind kind, Family family,
              const Keys& keys);
  // Adds a set of the addresses of NETWORKS, all of one family.
  Set add_networks(const Table& table, const std::string& name, Family family,
                   const std::vector<Prefix>& networks);
  // Adds a set without elements. A growing set has at most 1024.
  Set add_set(const Table& table, const std::string& name, KeyType type, Growth growth);
  // Adds elements to a set of an earlier request, or of the kernel. An element that is there stays.
  void add_elements(const Table& table, const std::string& set,
                    const std::vector<Element>& elements);
  // Removes elements. An absent element is not an error.
  void remove_elements(const Table& table, const std::string& set,
                       const std::vector<Element>& elements);
  void add_rule(nl::Message rule) { messages_.push_back(std::move(rule)); }

  // Commits all requests, or none and returns the error of the first failed request. Call it once.
  base::Status commit(const Namespace& in);
  base::Status commit(nl::Socket& socket);

 private:
  void make_table(const Table& table, int flags);
  Set make_set(const Table& table, const std::string& name, KeyType type, uint32_t flags);
  void change_elements(int type, const Table& table, const std::string& set,
                       const std::vector<Element>& elements);
  std::vector<nl::Message> messages_;
  uint32_t sets_ = 0;
};

// Makes a request to nf_tables about FAMILY, with its fixed header complete.
nl::Message request(int type, int flags, uint8_t family, std::string what, size_t capacity);
inline constexpr size_t kRequestBytes = 1024;  // enough for any request without keys

}  // namespace netns::nft
