// SPDX-License-Identifier: Apache-2.0
// The table of the border: its sets, chains and rules.
#pragma once

// First, so that the kernel's own definitions give way.
#include <netinet/in.h>

#include <linux/netfilter.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "netns/border.h"
#include "netns/internal/nft.h"
#include "netns/internal/nft_table.h"

namespace netns::border {

inline constexpr nft::Table kTable{NFPROTO_NETDEV, nft::kBorderName};

// Sets with keys that begin with the MAC of a container.
inline constexpr const char* kMacs = "macs";
// MACs that passed though nobody knows them.
inline constexpr const char* kOthers = "others";

// The sets of an address family.
struct SetNames {
  const char* addresses;  // address, of a container
  const char* own;        // IPv4: MAC, MAC, address; IPv6: MAC, address, address
  const char* peers;      // MAC, address, address of a peer or its own
  const char* endpoints;  // MAC, address, address of a peer, port
};
inline constexpr SetNames kIpv4Names{"addresses4", "own4", "peers4", "endpoints4"};
inline constexpr SetNames kIpv6Names{"addresses6", "own6", "peers6", "endpoints6"};
inline const SetNames& names_of(Family family) {
  return family == Family::kIpv4 ? kIpv4Names : kIpv6Names;
}
inline constexpr std::array<const char*, 7> kMacSets{
    kMacs,          kIpv4Names.own,   kIpv4Names.peers,    kIpv4Names.endpoints,
    kIpv6Names.own, kIpv6Names.peers, kIpv6Names.endpoints};
inline constexpr std::array<std::pair<Family, const char*>, 2> kAddressSets{
    {{Family::kIpv4, kIpv4Names.addresses}, {Family::kIpv6, kIpv6Names.addresses}}};

struct FamilySets {
  nft::Set addresses;
  nft::Set own;
  nft::Set peers;
  nft::Set endpoints;
};
struct Sets {
  nft::Set macs;
  nft::Set others;
  FamilySets ipv4;
  FamilySets ipv6;
};

struct Parent {
  std::string name;
  MacAddress mac;
  Others others;
};

struct NamedRule {
  std::string chain;
  std::string comment;  // unique in its chain; changes with what the rule does
  nl::Message message;
};

Sets add_sets(nft::Batch& batch);
void add_chains(nft::Batch& batch, const std::vector<Parent>& parents);
std::vector<NamedRule> rules_of(const std::vector<Parent>& parents, const Sets& sets);

inline bool by_chain(const nft::FoundRule& a, const nft::FoundRule& b) { return a.chain < b.chain; }

}  // namespace netns::border
