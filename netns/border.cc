// SPDX-License-Identifier: Apache-2.0
#include "netns/border.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "base/names.h"
#include "base/text.h"
#include "netns/internal/border/nftables.h"
#include "netns/internal/border/tc.h"
#include "netns/session.h"

namespace netns {

using namespace base::names;
using base::Removed;
using border::Elements;
using border::SetId;

namespace {

// Returns the part of a key that begins with a MAC.
void append(std::vector<uint8_t>& key, std::span<const uint8_t> part) {
  std::copy(part.begin(), part.end(), std::back_inserter(key));
  key.resize((key.size() + 3) / 4 * 4);
}

std::vector<uint8_t> key(std::initializer_list<std::span<const uint8_t>> parts) {
  std::vector<uint8_t> whole;
  for (const std::span<const uint8_t>& part : parts) append(whole, part);
  return whole;
}

std::vector<uint8_t> mac_key(const MacAddress& mac) { return {mac.bytes.begin(), mac.bytes.end()}; }

MacAddress mac_of(const Element& element) {
  MacAddress mac;
  std::copy_n(element.key.begin(), std::min(element.key.size(), mac.bytes.size()),
              mac.bytes.begin());
  return mac;
}

struct FamilySets {
  Family family;
  SetId addresses;
  SetId own;
  SetId peers;
  SetId endpoints;
};
constexpr std::array<FamilySets, 2> kFamilies{{
    {Family::kIpv4, SetId::kAddresses4, SetId::kOwn4, SetId::kPeers4, SetId::kEndpoints4},
    {Family::kIpv6, SetId::kAddresses6, SetId::kOwn6, SetId::kPeers6, SetId::kEndpoints6},
}};

void add_elements(const BorderMember& member, Elements& to) {
  const FamilySets& sets = kFamilies[member.address.is_ipv4() ? 0 : 1];
  const std::span<const uint8_t> mac(member.mac.bytes);
  const std::span<const uint8_t> own = member.address.raw();
  const auto add = [&](SetId set, std::vector<uint8_t> value) {
    to[set].push_back({std::move(value), member.lease});
  };
  add(SetId::kMacs, mac_key(member.mac));
  add(sets.addresses, key({own}));
  add(sets.own, member.address.is_ipv4() ? key({mac, mac, own}) : key({mac, own, own}));
  add(sets.peers, key({mac, own, own}));  // it may announce itself
  for (const Peer& peer : member.peers) {
    const std::array<uint8_t, 2> port{static_cast<uint8_t>(peer.port >> 8),
                                      static_cast<uint8_t>(peer.port & 0xff)};
    add(sets.peers, key({mac, own, peer.address.raw()}));
    if (peer.port != 0) add(sets.endpoints, key({mac, own, peer.address.raw(), port}));
  }
}

Elements elements_of(const std::vector<BorderMember>& members) {
  Elements elements;
  for (const BorderMember& member : members) add_elements(member, elements);
  for (auto& [set, keys] : elements) {
    std::sort(keys.begin(), keys.end());
    const auto same = [](const Element& a, const Element& b) { return a.key == b.key; };
    keys.erase(std::unique(keys.begin(), keys.end(), same), keys.end());
  }
  return elements;
}

Result<std::vector<border::Parent>> find_parents(Session& session,
                                                 const std::vector<BorderParent>& parents) {
  std::vector<border::Parent> found;
  for (const BorderParent& parent : parents) {
    const std::optional<Link> link = TRY(session.find_link(parent.name));
    const auto is_link = [&](const border::Parent& other) { return other.index == link->index; };
    // An interface can have several names.
    if (!link || std::any_of(found.begin(), found.end(), is_link)) continue;
    found.push_back({link->index, link->name, link->mac, parent.others});
  }
  return found;
}

// Returns what CARRIER has of MACS and KEPT does not need.
Result<Elements> find_unneeded(border::Carrier& carrier, const std::vector<MacAddress>& macs,
                               Elements kept) {
  Elements gone;
  for (const border::SetLayout& set : border::kSets) {
    if (!set.begins_with_mac) continue;
    for (Element& element : TRY(carrier.list(set.id))) {
      if (std::find(macs.begin(), macs.end(), mac_of(element)) == macs.end()) continue;
      const auto same = [&](const Element& other) { return other.key == element.key; };
      if (std::any_of(kept[set.id].begin(), kept[set.id].end(), same)) continue;
      gone[set.id].push_back(std::move(element));
    }
  }
  for (const FamilySets& sets : kFamilies) {
    // The addresses follow from the own keys, which end with them.
    const ptrdiff_t size = sets.family == Family::kIpv4 ? 4 : 16;
    const auto own = gone.find(sets.own);
    if (own == gone.end()) continue;
    for (const Element& element : own->second) {
      gone[sets.addresses].push_back({{element.key.end() - size, element.key.end()}});
    }
  }
  return gone;
}

constexpr FilterPlace kWays[] = {FilterPlace::kNftables, FilterPlace::kTc};  // best first

Result<std::vector<border::Parent>> find_parents(const Namespace& host,
                                                 const std::vector<BorderParent>& parents) {
  Session session = TRY(Session::open(host));
  return find_parents(session, parents);
}

// READY is a socket of that way, if there is one.
std::unique_ptr<border::Carrier> open_carrier(const Namespace& host, FilterPlace way,
                                              std::optional<nl::Socket> ready = {}) {
  if (way == FilterPlace::kTc) return std::make_unique<border::Tc>(host, std::move(ready));
  return std::make_unique<border::Nftables>(host, std::move(ready));
}

// All ways, best first.
std::vector<std::unique_ptr<border::Carrier>> open_carriers(const Namespace& host) {
  std::vector<std::unique_ptr<border::Carrier>> carriers;
  for (const FilterPlace way : kWays) carriers.push_back(open_carrier(host, way));
  return carriers;
}

std::vector<FilterPlace> ways_of(FilterPlace place) {
  switch (place) {
    case FilterPlace::kAuto:
    case FilterPlace::kHost:
      return {std::begin(kWays), std::end(kWays)};
    case FilterPlace::kNftables:
    case FilterPlace::kTc:
      return {place};
    case FilterPlace::kNamespace:
      return {};
  }
  return {};
}

Result<std::vector<Element>> list_all(const Namespace& host, SetId set) {
  std::vector<Element> all;
  for (const FilterPlace way : kWays) {
    for (Element& element : TRY(open_carrier(host, way)->list(set))) {
      all.push_back(std::move(element));
    }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

Status remove_other_ways(const Namespace& host, FilterPlace kept) {
  for (const FilterPlace way : kWays) {
    if (way != kept) TRY(open_carrier(host, way)->remove_all());
  }
  return {};
}

// Adds to each border that there is.
Status add_to(const std::vector<std::unique_ptr<border::Carrier>>& carriers,
              const std::vector<BorderMember>& members) {
  const Elements elements = elements_of(members);
  bool is_there = false;
  for (const std::unique_ptr<border::Carrier>& carrier : carriers) {
    const Status added = carrier->add(elements);
    if (!added.ok() && added.error().code() != Code::kNotFound) return added;
    is_there = is_there || added.ok();
  }
  if (!is_there) return Error(Code::kNotFound, "the host has no border");
  return {};
}

Removed either(Removed a, Removed b) { return a == Removed::kNow ? a : b; }

}  // namespace

Result<bool> border_stands(const Namespace& host, FilterPlace place,
                           const std::vector<BorderParent>& parents) {
  const std::vector<border::Parent> present = TRY(find_parents(host, parents));
  for (const FilterPlace way : ways_of(place)) {
    if (TRY(open_carrier(host, way)->stands(present))) return true;
  }
  return false;
}

Result<bool> admit_if_stands(const Namespace& host, FilterPlace place,
                             const std::vector<BorderParent>& parents,
                             const std::vector<BorderMember>& members) {
  std::vector<nl::Socket> sockets =
      TRY(nl::Socket::open_all(host, {NETLINK_ROUTE, NETLINK_NETFILTER}));
  Session session(std::move(sockets[0]));
  const std::vector<border::Parent> present = TRY(find_parents(session, parents));
  std::vector<std::unique_ptr<border::Carrier>> carriers;  // as in kWays
  carriers.push_back(open_carrier(host, FilterPlace::kNftables, std::move(sockets[1])));
  carriers.push_back(open_carrier(host, FilterPlace::kTc, std::move(session).take_socket()));
  bool stands = false;
  for (const FilterPlace way : ways_of(place)) {
    const auto number =
        static_cast<size_t>(std::find(std::begin(kWays), std::end(kWays), way) - std::begin(kWays));
    stands = stands || TRY(carriers[number]->stands(present));
  }
  if (stands && !members.empty()) TRY(add_to(carriers, members));
  return stands;
}

Result<FilterPlace> build_border(const Namespace& host, FilterPlace place,
                                 const std::vector<BorderParent>& parents,
                                 const std::vector<BorderMember>& members) {
  const std::vector<border::Parent> present = TRY(find_parents(host, parents));
  const Elements elements = elements_of(members);
  std::vector<std::string> reasons;
  for (const FilterPlace way : ways_of(place)) {
    const Status built = open_carrier(host, way)->build(present, elements);
    if (built.ok()) {
      TRY(remove_other_ways(host, way));
      return way;
    }
    if (built.error().code() != Code::kUnsupported) return built.error();
    reasons.push_back(built.error().message());
  }
  return Error(Code::kUnsupported,
               str("this kernel cannot filter what leaves an interface; set filter ="
                   " \"namespace\" in [network] to do without, see SECURITY.md (",
                   base::join(reasons, "; "), ')'));
}

Status admit(const Namespace& host, const std::vector<BorderMember>& members) {
  if (members.empty()) return {};
  return add_to(open_carriers(host), members);
}

Result<Removed> retain(const Namespace& host, const std::vector<MacAddress>& macs,
                       const std::vector<BorderMember>& members) {
  Removed removed = Removed::kWasAbsent;
  const Elements kept = elements_of(members);
  for (const FilterPlace way : kWays) {
    const std::unique_ptr<border::Carrier> carrier = open_carrier(host, way);
    const Elements gone = TRY(find_unneeded(*carrier, macs, kept));
    if (!gone.empty()) removed = either(removed, TRY(carrier->remove(gone)));
  }
  return removed;
}

Result<std::vector<Admitted>> admitted(const Namespace& host) {
  std::vector<Admitted> found;
  for (const Element& element : TRY(list_all(host, SetId::kMacs))) {
    found.push_back({mac_of(element), element.comment});
  }
  return found;
}

Result<std::vector<MacAddress>> passed_others(const Namespace& host) {
  std::vector<MacAddress> macs;
  for (const Element& element : TRY(list_all(host, SetId::kOthers))) {
    macs.push_back(mac_of(element));
  }
  return macs;
}

Result<std::vector<Dropped>> dropped_frames(const Namespace& host) {
  std::map<std::pair<std::string, std::string>, uint64_t> sums;
  for (const FilterPlace way : kWays) {
    for (const border::Counted& counted : TRY(open_carrier(host, way)->counts())) {
      const std::optional<std::string> rule = border::find_drop(counted.chain, counted.comment);
      if (rule) sums[{counted.chain, *rule}] += counted.frames;
    }
  }
  std::vector<Dropped> all;
  for (const auto& [key, frames] : sums) all.push_back({key.first, key.second, frames});
  return all;
}

Result<Removed> remove_border(const Namespace& host) {
  Removed removed = Removed::kWasAbsent;
  for (const FilterPlace way : kWays) {
    removed = either(removed, TRY(open_carrier(host, way)->remove_all()));
  }
  return removed;
}

}  // namespace netns
