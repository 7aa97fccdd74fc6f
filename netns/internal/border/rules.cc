// SPDX-License-Identifier: Apache-2.0
#include "netns/internal/border/rules.h"

// First, so that the kernel's own definitions give way.
#include <netinet/in.h>

#include <netinet/icmp6.h>

#include <span>
#include <string_view>

#include "base/text.h"

namespace netns::border {

using base::str;

namespace {

constexpr uint16_t kRoceV2Port = 4791;
const std::vector<uint8_t> kIpv4Type{0x08, 0x00};
const std::vector<uint8_t> kIpv6Type{0x86, 0xdd};
const std::vector<uint8_t> kArpType{0x08, 0x06};

// Ethernet (IEEE 802.3), then IPv4 without options (RFC 791), IPv6 (RFC 8200) or ARP (RFC 826).
constexpr Field kToMac{0, 6};
constexpr Field kFromMac{6, 6};
constexpr Field kEtherType{12, 2};
constexpr Field kVlan{14, 2};
constexpr Field kIpv4Start{14, 1};  // version and length of the header
constexpr Field kIpv4Fragment{20, 2};
constexpr Field kArpStart{14, 6};  // Ethernet, IPv4, and the length of their addresses
constexpr Field kArpOperation{20, 2};
constexpr Field kArpFromMac{22, 6};
constexpr Field kArpFrom{28, 4};
constexpr Field kArpTo{38, 4};
constexpr Field kIpv6Start{14, 1};
constexpr Field kIcmpv6Type{54, 1};
constexpr Field kSolicited{62, 16};  // RFC 4861, sections 4.3 and 4.4
constexpr Field kIpv6ToStart{38, 13};

// The places of an IP packet without options or extension headers.
struct Layout {
  Field protocol;
  Field from;
  Field to;
  Field from_port;
  Field to_port;
  uint8_t icmp;
};
constexpr Layout kIpv4Layout{{23, 1}, {26, 4}, {30, 4}, {34, 2}, {36, 2}, IPPROTO_ICMP};
constexpr Layout kIpv6Layout{{20, 1}, {22, 16}, {38, 16}, {54, 2}, {56, 2}, IPPROTO_ICMPV6};

std::vector<uint8_t> bytes_of(const MacAddress& mac) {
  return {mac.bytes.begin(), mac.bytes.end()};
}
std::vector<uint8_t> word(uint16_t value) {
  return {static_cast<uint8_t>(value >> 8), static_cast<uint8_t>(value & 0xff)};
}

constexpr std::string_view kEgress = "egress-";  // and then the name of the parent
constexpr const char* kFromContainer = "from-container";
constexpr const char* kToContainer = "to-container";
constexpr const char* kNoContainer = "no-container";
constexpr const char* kFromIpv4 = "from-ipv4";
constexpr const char* kFromIpv6 = "from-ipv6";
constexpr const char* kToIpv4 = "to-ipv4";
constexpr const char* kToIpv6 = "to-ipv6";

// The sets of an address family.
struct FamilySets {
  SetId addresses;
  SetId own;
  SetId peers;
  SetId endpoints;
};
constexpr FamilySets kIpv4Sets{SetId::kAddresses4, SetId::kOwn4, SetId::kPeers4,
                               SetId::kEndpoints4};
constexpr FamilySets kIpv6Sets{SetId::kAddresses6, SetId::kOwn6, SetId::kPeers6,
                               SetId::kEndpoints6};

// FNV-1a, 64 bits. Numbers and strings are added with an end, so that no two lists look the same.
class Fingerprint {
 public:
  void add(const SetLayout& set) {
    add(std::string_view(set.name));
    add(std::as_bytes(std::span(set.parts)));
  }
  void add(const FrameRule& rule) {
    add(rule.chain);
    add(rule.comment);
    for (const Condition& condition : rule.conditions) add(condition);
    add(static_cast<uint64_t>(rule.conditions.size()));
    if (rule.remembered) add(*rule.remembered);
    add(static_cast<uint64_t>(rule.remembered.has_value()) << 1 |
        static_cast<uint64_t>(rule.is_counted));
    add(static_cast<uint64_t>(rule.verdict));
    add(rule.target);
  }
  [[nodiscard]] uint64_t value() const { return hash_; }

 private:
  void add(const Condition& condition) {
    add(static_cast<uint64_t>(condition.kind));
    for (const Field& field : condition.fields) add(field);
    add(static_cast<uint64_t>(condition.fields.size()));
    add(condition.mask);
    add(condition.value);
    add(uint64_t{condition.first} << 8 | condition.last);
    add(static_cast<uint64_t>(condition.set));
  }
  void add(const Field& field) { add(uint64_t{field.offset} << 32 | field.size); }
  template <typename Bytes>
  void add(const Bytes& bytes) requires requires {
    bytes.size();
  }
  {
    for (const auto byte : bytes) step(static_cast<uint8_t>(byte));
    add(static_cast<uint64_t>(bytes.size()));
  }
  void add(uint64_t number) {
    for (; number != 0; number >>= 8) step(static_cast<uint8_t>(number));
    step(0);
  }
  void step(uint8_t byte) { hash_ = (hash_ ^ byte) * 1099511628211ULL; }

  uint64_t hash_ = 14695981039346656037ULL;
};

class Rules {
 public:
  void add_parent(const Parent& parent);
  void add_shared();
  std::vector<FrameRule> take() { return std::move(rules_); }

 private:
  void add(FrameRule rule, const std::string& comment, Verdict verdict) {
    rule.comment = comment;
    rule.is_counted = verdict == Verdict::kAccept || verdict == Verdict::kDrop;
    rule.verdict = verdict;
    rules_.push_back(std::move(rule));
  }
  void accept(const std::string& comment, FrameRule rule) {
    add(std::move(rule), comment, Verdict::kAccept);
  }
  void drop(const std::string& comment, FrameRule rule) {
    add(std::move(rule), comment, Verdict::kDrop);
  }
  void jump(const std::string& comment, FrameRule rule, const char* to) {
    rule.target = to;
    add(std::move(rule), comment, Verdict::kJump);
  }
  static FrameRule in(const std::string& chain) { return {chain, ""}; }
  // An IP packet that has neither options nor is a fragment.
  static FrameRule ipv4(const std::string& chain) {
    FrameRule rule = in(chain);
    rule.is(kEtherType, kIpv4Type).is(kIpv4Start, {0x45});
    rule.is(kIpv4Fragment, {0x3f, 0xff}, {0, 0});
    return rule;
  }
  static FrameRule ipv6(const std::string& chain) {
    FrameRule rule = in(chain);
    rule.is(kEtherType, kIpv6Type).is(kIpv6Start, {0xf0}, {0x60});
    return rule;
  }
  static FrameRule arp(const std::string& chain) {
    FrameRule rule = in(chain);
    rule.is(kEtherType, kArpType).is(kArpStart, {0, 1, 8, 0, 6, 4});
    return rule;
  }
  static FrameRule icmpv6(const std::string& chain, uint8_t first, uint8_t last) {
    FrameRule rule = in(chain);
    rule.is(kIpv6Layout.protocol, {IPPROTO_ICMPV6}).is_between(kIcmpv6Type, first, last);
    return rule;
  }

  void add_from(const char* chain, const Layout& at, const FamilySets& sets);
  void add_to(const char* chain, const Layout& at, const FamilySets& sets);
  void add_arp();
  void add_discovery();
  void add_claims();

  std::vector<FrameRule> rules_;
};

void Rules::add_parent(const Parent& parent) {
  const std::string out = egress_chain(parent);
  jump("of a container", in(out).is_in(SetId::kMacs, {kFromMac}), kFromContainer);
  accept("of a socket of the host", in(out).is(kFromMac, bytes_of(parent.mac)).is_of_own_socket());
  jump("not of a container", in(out), kNoContainer);
  const auto of_host = [&] {
    FrameRule rule = in(out);
    rule.is(kFromMac, bytes_of(parent.mac));
    return rule;
  };
  // With another MAC in it, such as a group's, the answer would not go to the host.
  accept(str("ARP of the host, ", to_string(parent.mac)),
         of_host().is(kEtherType, kArpType).is(kArpFromMac, bytes_of(parent.mac)));
  drop("ARP of the host with another MAC", of_host().is(kEtherType, kArpType));
  accept(str("of the host, ", to_string(parent.mac)), of_host());
  if (parent.others == Others::kPass) {
    add(in(out).remember(kFromMac), "remember others", Verdict::kNext);
    accept("others pass", in(out).is({kFromMac.offset, 1}, {0x01}, {0x00}));
  }
  drop("others", in(out));
  const std::string arriving = ingress_chain(parent);
  jump("to a container", in(arriving).is_in(SetId::kMacs, {kToMac}), kToContainer);
}

// Who is no container does not claim the address of one. A receiver takes a tag with VLAN 0 off and
// reads the frame as if it had none.
void Rules::add_claims() {
  for (const uint8_t first : {uint8_t{0x81}, uint8_t{0x88}}) {
    const uint8_t second = first == 0x81 ? 0x00 : 0xa8;
    drop(first == 0x81 ? "VLAN 0" : "VLAN 0 of a provider",
         in(kNoContainer).is(kEtherType, {first, second}).is(kVlan, {0x0f, 0xff}, {0, 0}));
  }
  drop("claims an address by ARP",
       in(kNoContainer).is(kEtherType, kArpType).is_in(kIpv4Sets.addresses, {kArpFrom}));
  drop("claims an IPv4 address",
       in(kNoContainer).is(kEtherType, kIpv4Type).is_in(kIpv4Sets.addresses, {kIpv4Layout.from}));
  drop("claims an IPv6 address",
       in(kNoContainer).is(kEtherType, kIpv6Type).is_in(kIpv6Sets.addresses, {kIpv6Layout.from}));
}

void Rules::add_from(const char* chain, const Layout& at, const FamilySets& sets) {
  accept("TCP to an endpoint", in(chain)
                                   .is(at.protocol, {IPPROTO_TCP})
                                   .is_in(sets.endpoints, {kFromMac, at.from, at.to, at.to_port}));
  accept("RoCE v2 to a peer", in(chain)
                                  .is(at.protocol, {IPPROTO_UDP})
                                  .is(at.to_port, word(kRoceV2Port))
                                  .is_in(sets.peers, {kFromMac, at.from, at.to}));
  accept("ICMP to a peer",
         in(chain).is(at.protocol, {at.icmp}).is_in(sets.peers, {kFromMac, at.from, at.to}));
}

void Rules::add_to(const char* chain, const Layout& at, const FamilySets& sets) {
  accept("TCP from an endpoint",
         in(chain)
             .is(at.protocol, {IPPROTO_TCP})
             .is_in(sets.endpoints, {kToMac, at.to, at.from, at.from_port}));
  accept("RoCE v2 from a peer", in(chain)
                                    .is(at.protocol, {IPPROTO_UDP})
                                    .is(at.to_port, word(kRoceV2Port))
                                    .is_in(sets.peers, {kToMac, at.to, at.from}));
  accept("ICMP from a peer",
         in(chain).is(at.protocol, {at.icmp}).is_in(sets.peers, {kToMac, at.to, at.from}));
}

void Rules::add_arp() {
  const auto own = [&](uint8_t operation) {
    FrameRule rule = arp(kFromContainer);
    rule.is(kArpOperation, {0, operation});
    rule.is_in(kIpv4Sets.own, {kFromMac, kArpFromMac, kArpFrom});
    return rule;
  };
  for (const auto& [operation, what] : {std::pair{uint8_t{1}, "request"}, {uint8_t{2}, "reply"}}) {
    accept(str("ARP ", what, " to a peer"),
           own(operation).is_in(kIpv4Sets.peers, {kFromMac, kArpFrom, kArpTo}));
  }
  // RFC 5227: who looks for duplicates of an address has none yet.
  accept("ARP reply to a probe", own(2).is(kArpTo, {0, 0, 0, 0}));
  accept("ARP of a peer", arp(kToContainer).is_in(kIpv4Sets.peers, {kToMac, kArpTo, kArpFrom}));
}

// Before ICMPv6 in general: neighbour discovery tells who has which address.
void Rules::add_discovery() {
  const std::vector<uint8_t> to_solicited_node{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff};
  std::vector<uint8_t> to_all_nodes(16);
  to_all_nodes[0] = 0xff;
  to_all_nodes[1] = 2;
  to_all_nodes[15] = 1;
  const FamilySets& sets = kIpv6Sets;
  const auto solicit = [&] {
    FrameRule rule = icmpv6(kFromIpv6, ND_NEIGHBOR_SOLICIT, ND_NEIGHBOR_SOLICIT);
    rule.is_in(sets.peers, {kFromMac, kIpv6Layout.from, kSolicited});
    return rule;
  };
  const auto advertise = [&] {
    FrameRule rule = icmpv6(kFromIpv6, ND_NEIGHBOR_ADVERT, ND_NEIGHBOR_ADVERT);
    rule.is_in(sets.own, {kFromMac, kIpv6Layout.from, kSolicited});
    return rule;
  };
  accept("solicits a peer", solicit().is(kIpv6ToStart, to_solicited_node));
  accept("solicits a known peer",
         solicit().is_in(sets.peers, {kFromMac, kIpv6Layout.from, kIpv6Layout.to}));
  accept("advertises itself to all", advertise().is(kIpv6Layout.to, to_all_nodes));
  accept("advertises itself to a peer",
         advertise().is_in(sets.peers, {kFromMac, kIpv6Layout.from, kIpv6Layout.to}));
  drop("other discovery", icmpv6(kFromIpv6, ND_ROUTER_SOLICIT, ND_REDIRECT));
}

void Rules::add_shared() {
  add_claims();
  jump("IPv4", ipv4(kFromContainer), kFromIpv4);
  jump("IPv6", ipv6(kFromContainer), kFromIpv6);
  jump("IPv4", ipv4(kToContainer), kToIpv4);
  jump("IPv6", ipv6(kToContainer), kToIpv6);
  add_from(kFromIpv4, kIpv4Layout, kIpv4Sets);
  add_discovery();
  add_from(kFromIpv6, kIpv6Layout, kIpv6Sets);
  add_to(kToIpv4, kIpv4Layout, kIpv4Sets);
  add_to(kToIpv6, kIpv6Layout, kIpv6Sets);
  add_arp();
  for (const char* chain : {kFromContainer, kToContainer}) drop("all else", in(chain));
}

}  // namespace

uint32_t key_size(const SetLayout& set) {
  if (set.parts[1] == Part::kNone) return size_of(set.parts[0]);
  uint32_t bytes = 0;
  for (const Part part : set.parts) bytes += (size_of(part) + 3) / 4 * 4;
  return bytes;
}

std::string egress_chain(const Parent& parent) { return str(kEgress, parent.name); }
std::string ingress_chain(const Parent& parent) { return "ingress-" + parent.name; }

std::vector<std::string> shared_chains() {
  return {kNoContainer, kFromIpv4, kFromIpv6, kToIpv4, kToIpv6, kFromContainer, kToContainer};
}

uint64_t fingerprint(const std::vector<FrameRule>& rules) {
  Fingerprint print;
  for (const SetLayout& set : kSets) print.add(set);
  for (const FrameRule& rule : rules) print.add(rule);
  return print.value();
}

std::vector<FrameRule> rules_of(const std::vector<Parent>& parents) {
  Rules rules;
  rules.add_shared();
  for (const Parent& parent : parents) rules.add_parent(parent);
  return rules.take();
}

std::optional<std::string> find_drop(std::string_view chain, std::string_view comment) {
  std::vector<Parent> parents;
  if (chain.starts_with(kEgress))
    parents.push_back({0, std::string(chain.substr(kEgress.size())), {}, Others::kDrop});
  for (FrameRule& rule : rules_of(parents)) {
    const bool is_it = rule.chain == chain && rule.comment.starts_with(comment);
    if (is_it && rule.verdict == Verdict::kDrop) return std::move(rule.comment);
  }
  return std::nullopt;
}

}  // namespace netns::border
