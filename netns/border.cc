// SPDX-License-Identifier: Apache-2.0
#include "netns/border.h"

// First, so that the kernel's own definitions give way.
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <map>

#include "base/names.h"
#include "base/text.h"
#include "netns/internal/border_rules.h"
#include "netns/internal/nft_table.h"
#include "netns/session.h"

namespace netns {

using namespace base::names;
using base::Removed;
using border::kTable;
using nft::Batch;
using nft::Element;

namespace {

using Elements = std::map<std::string, std::vector<Element>>;  // by set

constexpr int kListAttempts = 5;  // a list fails if the rules of the host change meanwhile

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

void add_elements(const BorderMember& member, Elements& to) {
  const border::SetNames& sets = border::names_of(member.address.family);
  const std::span<const uint8_t> mac(member.mac.bytes);
  const std::span<const uint8_t> own = member.address.raw();
  const auto add = [&](const char* set, std::vector<uint8_t> value) {
    to[set].push_back({std::move(value), member.lease});
  };
  add(border::kMacs, mac_key(member.mac));
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

// Lists until no transaction of another program comes in between.
template <typename T>
Result<T> list(const std::function<Result<T>()>& once) {
  for (int attempt = 1;; ++attempt) {
    Result<T> found = once();
    if (found.ok() || found.error().sys_errno() != EINTR || attempt == kListAttempts) return found;
  }
}

Result<std::vector<Element>> elements_in(nl::Socket& socket, const char* set) {
  return list<std::vector<Element>>([&] { return nft::find_elements(socket, kTable, set); });
}

Result<std::vector<border::Parent>> find_parents(const Namespace& host,
                                                 const std::vector<BorderParent>& parents) {
  Session session = TRY(Session::open(host));
  std::vector<border::Parent> found;
  for (const BorderParent& parent : parents) {
    const std::optional<Link> link = TRY(session.find_link(parent.name));
    if (link) found.push_back({link->name, link->mac, parent.others});
  }
  return found;
}

Error explain(const Error& error) {
  if (!nft::is_missing(error.sys_errno())) return error;
  return {Code::kUnsupported,
          str("this kernel cannot filter what leaves an interface (nf_tables with egress, Linux"
              " 5.16 or newer); set filter = \"namespace\" in [network] to do without, see"
              " SECURITY.md (",
              error.message(), ')')};
}

}  // namespace

Result<bool> border_stands(const Namespace& host, const std::vector<BorderParent>& parents) {
  const std::vector<border::Parent> present = TRY(find_parents(host, parents));
  nl::Socket socket = TRY(nl::Socket::open(host, NETLINK_NETFILTER));
  std::vector<nft::FoundRule> found =
      TRY(list<std::vector<nft::FoundRule>>([&] { return nft::find_rules(socket, kTable); }));
  std::vector<nft::FoundRule> wanted;
  for (const border::NamedRule& rule : border::rules_of(present, {})) {
    wanted.push_back({rule.chain, rule.comment});
  }
  std::stable_sort(found.begin(), found.end(), border::by_chain);
  std::stable_sort(wanted.begin(), wanted.end(), border::by_chain);
  return found == wanted;
}

Status build_border(const Namespace& host, const std::vector<BorderParent>& parents,
                    const std::vector<BorderMember>& members) {
  const std::vector<border::Parent> present = TRY(find_parents(host, parents));
  const auto build = [&](nft::IfExists if_exists) {
    Batch batch;
    batch.add_table(kTable, if_exists);
    const border::Sets sets = border::add_sets(batch);
    border::add_chains(batch, present);
    for (border::NamedRule& rule : border::rules_of(present, sets)) {
      batch.add_rule(std::move(rule.message));
    }
    for (const auto& [set, elements] : elements_of(members)) {
      batch.add_elements(kTable, set, elements);
    }
    return batch.commit(host);
  };
  // As in install_filter(): replacement at once would cost 12 ms also where nothing is replaced.
  Status status = build(nft::IfExists::kFail);
  if (!status.ok() && status.error().sys_errno() == EEXIST) status = build(nft::IfExists::kReplace);
  if (status.ok()) return status;
  return explain(status.error());
}

Status admit(const Namespace& host, const std::vector<BorderMember>& members) {
  if (members.empty()) return {};
  Batch batch;
  for (const auto& [set, elements] : elements_of(members)) {
    batch.add_elements(kTable, set, elements);
  }
  return batch.commit(host);
}

Result<Removed> retain(const Namespace& host, const std::vector<MacAddress>& macs,
                       const std::vector<BorderMember>& members) {
  nl::Socket socket = TRY(nl::Socket::open(host, NETLINK_NETFILTER));
  Elements kept = elements_of(members);
  std::map<std::string, std::vector<Element>> gone;
  for (const char* set : border::kMacSets) {
    for (Element& element : TRY(elements_in(socket, set))) {
      if (std::find(macs.begin(), macs.end(), mac_of(element)) == macs.end()) continue;
      const auto same = [&](const Element& other) { return other.key == element.key; };
      if (std::any_of(kept[set].begin(), kept[set].end(), same)) continue;
      gone[set].push_back(std::move(element));
    }
  }
  for (const auto& [family, set] : border::kAddressSets) {
    // The addresses follow from the own keys, which end with them.
    for (const Element& own : gone[border::names_of(family).own]) {
      const size_t size = family == Family::kIpv4 ? 4 : 16;
      gone[set].push_back({{own.key.end() - static_cast<ptrdiff_t>(size), own.key.end()}});
    }
  }
  Batch batch;
  bool any = false;
  for (const auto& [set, elements] : gone) {
    batch.remove_elements(kTable, set, elements);
    any = any || !elements.empty();
  }
  if (!any) return Removed::kWasAbsent;
  const Status status = batch.commit(host);
  if (status.ok()) return Removed::kNow;
  if (status.error().sys_errno() == ENOENT) return Removed::kWasAbsent;
  return status.error();
}

Result<std::vector<Admitted>> admitted(const Namespace& host) {
  nl::Socket socket = TRY(nl::Socket::open(host, NETLINK_NETFILTER));
  std::vector<Admitted> found;
  for (const Element& element : TRY(elements_in(socket, border::kMacs))) {
    found.push_back({mac_of(element), element.comment});
  }
  return found;
}

Result<std::vector<MacAddress>> passed_others(const Namespace& host) {
  nl::Socket socket = TRY(nl::Socket::open(host, NETLINK_NETFILTER));
  std::vector<MacAddress> macs;
  for (const Element& element : TRY(elements_in(socket, border::kOthers))) {
    macs.push_back(mac_of(element));
  }
  return macs;
}

Result<Removed> remove_border(const Namespace& host) { return nft::remove_tables(host, {kTable}); }

}  // namespace netns
