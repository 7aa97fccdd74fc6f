// SPDX-License-Identifier: Apache-2.0
// A frame is judged by bytes at fixed places, not by the headers that the kernel finds: whoever
// sends raw frames decides what the kernel finds.
#include "netns/internal/border_rules.h"

// First, so that the kernel's own definitions give way.
#include <netinet/in.h>

#include <netinet/icmp6.h>

#include "base/text.h"

namespace netns::border {

using base::str;
using nft::Batch;
using nft::Field;
using nft::Rule;

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

constexpr const char* kFromContainer = "from-container";
constexpr const char* kToContainer = "to-container";
constexpr const char* kNoContainer = "no-container";
constexpr const char* kFromIpv4 = "from-ipv4";
constexpr const char* kFromIpv6 = "from-ipv6";
constexpr const char* kToIpv4 = "to-ipv4";
constexpr const char* kToIpv6 = "to-ipv6";

std::string egress(const Parent& parent) { return "egress-" + parent.name; }
std::string ingress(const Parent& parent) { return "ingress-" + parent.name; }

class Rules {
 public:
  explicit Rules(const Sets& sets) : sets_(sets) {}

  void add_parent(const Parent& parent);
  void add_shared();
  std::vector<NamedRule> take() { return std::move(rules_); }

 private:
  template <typename End>
  void add(const std::string& chain, const std::string& comment, Rule rule, End end) {
    rule.comment(comment);
    rules_.push_back({chain, comment, end(std::move(rule))});
  }
  void accept(const std::string& chain, const std::string& comment, Rule rule) {
    rule.count();
    add(chain, comment, std::move(rule), [](Rule&& of) { return std::move(of).accept(); });
  }
  void drop(const std::string& chain, const std::string& comment, Rule rule) {
    rule.count();
    add(chain, comment, std::move(rule), [](Rule&& of) { return std::move(of).drop(); });
  }
  void jump(const std::string& chain, const std::string& comment, Rule rule, const char* to) {
    add(chain, comment, std::move(rule), [&](Rule&& of) { return std::move(of).jump(to); });
  }
  static Rule in(const std::string& chain) { return {kTable, chain}; }
  // An IP packet that has neither options nor is a fragment.
  static Rule ipv4(const std::string& chain) {
    Rule rule = in(chain);
    rule.frame_is(kEtherType, kIpv4Type).frame_is(kIpv4Start, {0x45});
    rule.frame_is(kIpv4Fragment, {0x3f, 0xff}, {0, 0});
    return rule;
  }
  static Rule ipv6(const std::string& chain) {
    Rule rule = in(chain);
    rule.frame_is(kEtherType, kIpv6Type).frame_is(kIpv6Start, {0xf0}, {0x60});
    return rule;
  }
  static Rule arp(const std::string& chain) {
    Rule rule = in(chain);
    rule.frame_is(kEtherType, kArpType).frame_is(kArpStart, {0, 1, 8, 0, 6, 4});
    return rule;
  }
  static Rule icmpv6(const std::string& chain, uint8_t first, uint8_t last) {
    Rule rule = in(chain);
    rule.frame_is(kIpv6Layout.protocol, {IPPROTO_ICMPV6}).frame_between(kIcmpv6Type, first, last);
    return rule;
  }

  void add_from(const char* chain, const Layout& at, const FamilySets& sets);
  void add_to(const char* chain, const Layout& at, const FamilySets& sets);
  void add_arp();
  void add_discovery();
  void add_claims();

  const Sets& sets_;
  std::vector<NamedRule> rules_;
};

void Rules::add_parent(const Parent& parent) {
  const std::string out = egress(parent);
  jump(out, "of a container", std::move(in(out).frame_in(sets_.macs, {kFromMac})), kFromContainer);
  accept(out, "of a socket of the host",
         std::move(in(out).frame_is(kFromMac, bytes_of(parent.mac)).is_of_own_socket()));
  jump(out, "not of a container", in(out), kNoContainer);
  const auto of_host = [&] {
    Rule rule = in(out);
    rule.frame_is(kFromMac, bytes_of(parent.mac));
    return rule;
  };
  // With another MAC in it, such as a group's, the answer would not go to the host.
  accept(out, str("ARP of the host, ", to_string(parent.mac)),
         std::move(
             of_host().frame_is(kEtherType, kArpType).frame_is(kArpFromMac, bytes_of(parent.mac))));
  drop(out, "ARP of the host with another MAC",
       std::move(of_host().frame_is(kEtherType, kArpType)));
  accept(out, str("of the host, ", to_string(parent.mac)), of_host());
  if (parent.others == Others::kPass) {
    add(out, "remember others", std::move(in(out).remember(sets_.others, kFromMac)),
        [](Rule&& of) { return std::move(of).done(); });
    accept(out, "others pass", std::move(in(out).frame_is({kFromMac.offset, 1}, {0x01}, {0x00})));
  }
  drop(out, "others", in(out));
  const std::string arriving = ingress(parent);
  jump(arriving, "to a container", std::move(in(arriving).frame_in(sets_.macs, {kToMac})),
       kToContainer);
}

// Who is no container does not claim the address of one. A receiver takes a tag with VLAN 0 off and
// reads the frame as if it had none.
void Rules::add_claims() {
  for (const uint8_t first : {uint8_t{0x81}, uint8_t{0x88}}) {
    const uint8_t second = first == 0x81 ? 0x00 : 0xa8;
    drop(kNoContainer, first == 0x81 ? "VLAN 0" : "VLAN 0 of a provider",
         std::move(in(kNoContainer)
                       .frame_is(kEtherType, {first, second})
                       .frame_is(kVlan, {0x0f, 0xff}, {0, 0})));
  }
  drop(kNoContainer, "claims an address by ARP",
       std::move(in(kNoContainer)
                     .frame_is(kEtherType, kArpType)
                     .frame_in(sets_.ipv4.addresses, {kArpFrom})));
  drop(kNoContainer, "claims an IPv4 address",
       std::move(in(kNoContainer)
                     .frame_is(kEtherType, kIpv4Type)
                     .frame_in(sets_.ipv4.addresses, {kIpv4Layout.from})));
  drop(kNoContainer, "claims an IPv6 address",
       std::move(in(kNoContainer)
                     .frame_is(kEtherType, kIpv6Type)
                     .frame_in(sets_.ipv6.addresses, {kIpv6Layout.from})));
}

void Rules::add_from(const char* chain, const Layout& at, const FamilySets& sets) {
  accept(chain, "TCP to an endpoint",
         std::move(in(chain)
                       .frame_is(at.protocol, {IPPROTO_TCP})
                       .frame_in(sets.endpoints, {kFromMac, at.from, at.to, at.to_port})));
  accept(chain, "RoCE v2 to a peer",
         std::move(in(chain)
                       .frame_is(at.protocol, {IPPROTO_UDP})
                       .frame_is(at.to_port, word(kRoceV2Port))
                       .frame_in(sets.peers, {kFromMac, at.from, at.to})));
  accept(chain, "ICMP to a peer",
         std::move(in(chain)
                       .frame_is(at.protocol, {at.icmp})
                       .frame_in(sets.peers, {kFromMac, at.from, at.to})));
}

void Rules::add_to(const char* chain, const Layout& at, const FamilySets& sets) {
  accept(chain, "TCP from an endpoint",
         std::move(in(chain)
                       .frame_is(at.protocol, {IPPROTO_TCP})
                       .frame_in(sets.endpoints, {kToMac, at.to, at.from, at.from_port})));
  accept(chain, "RoCE v2 from a peer",
         std::move(in(chain)
                       .frame_is(at.protocol, {IPPROTO_UDP})
                       .frame_is(at.to_port, word(kRoceV2Port))
                       .frame_in(sets.peers, {kToMac, at.to, at.from})));
  accept(chain, "ICMP from a peer",
         std::move(in(chain)
                       .frame_is(at.protocol, {at.icmp})
                       .frame_in(sets.peers, {kToMac, at.to, at.from})));
}

void Rules::add_arp() {
  const auto own = [&](uint8_t operation) {
    Rule rule = arp(kFromContainer);
    rule.frame_is(kArpOperation, {0, operation});
    rule.frame_in(sets_.ipv4.own, {kFromMac, kArpFromMac, kArpFrom});
    return rule;
  };
  for (const auto& [operation, what] : {std::pair{uint8_t{1}, "request"}, {uint8_t{2}, "reply"}}) {
    accept(kFromContainer, str("ARP ", what, " to a peer"),
           std::move(own(operation).frame_in(sets_.ipv4.peers, {kFromMac, kArpFrom, kArpTo})));
  }
  // RFC 5227: who looks for duplicates of an address has none yet.
  accept(kFromContainer, "ARP reply to a probe", std::move(own(2).frame_is(kArpTo, {0, 0, 0, 0})));
  accept(kToContainer, "ARP of a peer",
         std::move(arp(kToContainer).frame_in(sets_.ipv4.peers, {kToMac, kArpTo, kArpFrom})));
}

// Before ICMPv6 in general: neighbour discovery tells who has which address.
void Rules::add_discovery() {
  const std::vector<uint8_t> to_solicited_node{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff};
  std::vector<uint8_t> to_all_nodes(16);
  to_all_nodes[0] = 0xff;
  to_all_nodes[1] = 2;
  to_all_nodes[15] = 1;
  const FamilySets& sets = sets_.ipv6;
  const auto solicit = [&] {
    Rule rule = icmpv6(kFromIpv6, ND_NEIGHBOR_SOLICIT, ND_NEIGHBOR_SOLICIT);
    rule.frame_in(sets.peers, {kFromMac, kIpv6Layout.from, kSolicited});
    return rule;
  };
  const auto advertise = [&] {
    Rule rule = icmpv6(kFromIpv6, ND_NEIGHBOR_ADVERT, ND_NEIGHBOR_ADVERT);
    rule.frame_in(sets.own, {kFromMac, kIpv6Layout.from, kSolicited});
    return rule;
  };
  accept(kFromIpv6, "solicits a peer",
         std::move(solicit().frame_is(kIpv6ToStart, to_solicited_node)));
  accept(kFromIpv6, "solicits a known peer",
         std::move(solicit().frame_in(sets.peers, {kFromMac, kIpv6Layout.from, kIpv6Layout.to})));
  accept(kFromIpv6, "advertises itself to all",
         std::move(advertise().frame_is(kIpv6Layout.to, to_all_nodes)));
  accept(kFromIpv6, "advertises itself to a peer",
         std::move(advertise().frame_in(sets.peers, {kFromMac, kIpv6Layout.from, kIpv6Layout.to})));
  drop(kFromIpv6, "other discovery", icmpv6(kFromIpv6, ND_ROUTER_SOLICIT, ND_REDIRECT));
}

void Rules::add_shared() {
  add_claims();
  jump(kFromContainer, "IPv4", ipv4(kFromContainer), kFromIpv4);
  jump(kFromContainer, "IPv6", ipv6(kFromContainer), kFromIpv6);
  jump(kToContainer, "IPv4", ipv4(kToContainer), kToIpv4);
  jump(kToContainer, "IPv6", ipv6(kToContainer), kToIpv6);
  add_from(kFromIpv4, kIpv4Layout, sets_.ipv4);
  add_discovery();
  add_from(kFromIpv6, kIpv6Layout, sets_.ipv6);
  add_to(kToIpv4, kIpv4Layout, sets_.ipv4);
  add_to(kToIpv6, kIpv6Layout, sets_.ipv6);
  add_arp();
  for (const char* chain : {kFromContainer, kToContainer}) drop(chain, "all else", in(chain));
}

FamilySets add_sets(Batch& batch, Family family) {
  const SetNames& names = names_of(family);
  const nft::KeyType address = family == Family::kIpv4 ? nft::kIpv4Part : nft::kIpv6Part;
  const nft::KeyType own = family == Family::kIpv4 ? nft::kMacPart : address;
  const auto add = [&](const char* name, std::initializer_list<nft::KeyType> parts) {
    return batch.add_set(kTable, name, nft::key_of(parts), nft::Growth::kFixed);
  };
  return {add(names.addresses, {address}), add(names.own, {nft::kMacPart, own, address}),
          add(names.peers, {nft::kMacPart, address, address}),
          add(names.endpoints, {nft::kMacPart, address, address, nft::kPortPart})};
}

}  // namespace

Sets add_sets(Batch& batch) {
  Sets sets;
  sets.macs = batch.add_set(kTable, kMacs, nft::kMacPart, nft::Growth::kFixed);
  sets.others = batch.add_set(kTable, kOthers, nft::kMacPart, nft::Growth::kGrowing);
  sets.ipv4 = add_sets(batch, Family::kIpv4);
  sets.ipv6 = add_sets(batch, Family::kIpv6);
  return sets;
}

void add_chains(Batch& batch, const std::vector<Parent>& parents) {
  for (const char* chain :
       {kNoContainer, kFromIpv4, kFromIpv6, kToIpv4, kToIpv6, kFromContainer, kToContainer}) {
    batch.add_device_chain(kTable, chain, 0, "");
  }
  for (const Parent& parent : parents) {
    batch.add_device_chain(kTable, egress(parent), NF_NETDEV_EGRESS, parent.name);
    batch.add_device_chain(kTable, ingress(parent), NF_NETDEV_INGRESS, parent.name);
  }
}

std::vector<NamedRule> rules_of(const std::vector<Parent>& parents, const Sets& sets) {
  Rules rules(sets);
  rules.add_shared();
  for (const Parent& parent : parents) rules.add_parent(parent);
  return rules.take();
}

}  // namespace netns::border
