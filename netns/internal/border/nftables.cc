// SPDX-License-Identifier: Apache-2.0
#include "netns/internal/border/nftables.h"

// First, so that the kernel's own definitions give way.
#include <netinet/in.h>

#include <linux/netfilter.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>

#include "base/names.h"
#include "base/text.h"
#include "netns/internal/nft.h"
#include "netns/internal/nft_find.h"
#include "netns/internal/nft_table.h"

namespace netns::border {

using namespace base::names;
using base::Removed;
using nft::Batch;
using nft::IfExists;
using nft::Rule;

namespace {

constexpr nft::Table kTable{NFPROTO_NETDEV, nft::kBorderName};
constexpr int kListAttempts = 5;  // a list fails if the rules of the host change meanwhile

nft::KeyType type_of(Part part) {
  switch (part) {
    case Part::kNone:
      return {};
    case Part::kMac:
      return nft::kMacPart;
    case Part::kIpv4:
      return nft::kIpv4Part;
    case Part::kIpv6:
      return nft::kIpv6Part;
    case Part::kPort:
      return nft::kPortPart;
  }
  return {};
}

nft::KeyType type_of(const SetLayout& set) {
  if (set.parts[1] == Part::kNone) return type_of(set.parts[0]);
  std::vector<nft::KeyType> parts;
  for (const Part part : set.parts) {
    if (part != Part::kNone) parts.push_back(type_of(part));
  }
  return nft::key_of(parts);
}

std::vector<nft::Set> add_sets(Batch& batch) {
  std::vector<nft::Set> sets;
  for (const SetLayout& set : kSets) {
    const nft::Growth growth =
        set.id == SetId::kOthers ? nft::Growth::kGrowing : nft::Growth::kFixed;
    sets.push_back(batch.add_set(kTable, set.name, type_of(set), growth));
  }
  return sets;
}

// Increase it with each change of how this file and nft.h put rules, sets and chains.
constexpr int kForm = 1;

struct Chain {
  std::string name;
  std::string device = {};  // empty: a chain to jump to
  uint32_t hook = 0;
  std::string parent = {};  // what the rules depend on
};

// A chain comes after those that it jumps to.
std::vector<Chain> chains_of(const std::vector<Parent>& parents) {
  std::vector<Chain> chains;
  for (const std::string& name : shared_chains()) chains.push_back({name});
  for (const Parent& parent : parents) {
    const std::string about =
        str(", ", to_string(parent.mac), parent.others == Others::kPass ? ", others pass" : "");
    chains.push_back({egress_chain(parent), parent.name, NF_NETDEV_EGRESS, about});
    chains.push_back({ingress_chain(parent), parent.name, NF_NETDEV_INGRESS, about});
  }
  return chains;
}

// The comment of a chain tells its rules, so that none of them need be read. USES as in FoundChain.
std::string comment_of(const Chain& chain, uint32_t uses) {
  return str(uses, " uses, rules ", kForm, '/', kRulesFingerprint, chain.parent);
}

void add_chains(Batch& batch, const std::vector<Parent>& parents,
                const std::vector<FrameRule>& rules) {
  std::map<std::string, uint32_t> uses;
  for (const FrameRule& rule : rules) {
    uses[rule.chain] += 1;
    if (rule.verdict == Verdict::kJump) uses[rule.target] += 1;
  }
  for (const Chain& chain : chains_of(parents)) {
    batch.add_device_chain(kTable, chain.name, chain.hook, chain.device,
                           comment_of(chain, uses[chain.name]));
  }
}

const nft::Set& set_of(const std::vector<nft::Set>& sets, SetId id) {
  return sets[static_cast<size_t>(id)];
}

void put_condition(Rule& rule, const Condition& condition, const std::vector<nft::Set>& sets) {
  switch (condition.kind) {
    case Condition::Kind::kEqual:
      rule.frame_is(condition.fields.front(), condition.mask, condition.value);
      return;
    case Condition::Kind::kBetween:
      rule.frame_between(condition.fields.front(), condition.first, condition.last);
      return;
    case Condition::Kind::kIn:
      rule.frame_in(set_of(sets, condition.set), condition.fields);
      return;
    case Condition::Kind::kOwnSocket:
      rule.is_of_own_socket();
      return;
  }
}

nl::Message message_of(const FrameRule& from, const std::vector<nft::Set>& sets) {
  Rule rule(kTable, from.chain);
  for (const Condition& condition : from.conditions) put_condition(rule, condition, sets);
  if (from.remembered) rule.remember(set_of(sets, SetId::kOthers), *from.remembered);
  if (from.is_counted) rule.count();
  rule.comment(from.comment);
  switch (from.verdict) {
    case Verdict::kNext:
      return std::move(rule).done();
    case Verdict::kAccept:
      return std::move(rule).accept();
    case Verdict::kDrop:
      return std::move(rule).drop();
    case Verdict::kJump:
      return std::move(rule).jump(from.target);
  }
  return std::move(rule).drop();
}

// Lists until no transaction of another program comes in between.
template <typename T>
Result<T> list_calmly(const std::function<Result<T>()>& once) {
  for (int attempt = 1;; ++attempt) {
    Result<T> found = once();
    if (found.ok() || found.error().sys_errno() != EINTR || attempt == kListAttempts) return found;
  }
}

Error explain(const Error& error) {
  if (!nft::is_missing(error.sys_errno())) return error;
  return {Code::kUnsupported, str("nf_tables with egress, Linux 5.16 or newer: ", error.message())};
}

}  // namespace

Result<bool> Nftables::stands(const std::vector<Parent>& parents) {
  nl::Socket& netlink = *TRY(socket());
  std::vector<nft::FoundChain> found = TRY(
      list_calmly<std::vector<nft::FoundChain>>([&] { return nft::find_chains(netlink, kTable); }));
  std::vector<Chain> wanted = chains_of(parents);
  const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
  std::sort(found.begin(), found.end(), by_name);
  std::sort(wanted.begin(), wanted.end(), by_name);
  stood_ = std::equal(found.begin(), found.end(), wanted.begin(), wanted.end(),
                      [](const nft::FoundChain& is, const Chain& should) {
                        return is.name == should.name && is.device == should.device &&
                               is.comment == comment_of(should, is.uses);
                      });
  return stood_;
}

Status Nftables::build(const std::vector<Parent>& parents, const Elements& elements) {
  nl::Socket& netlink = *TRY(socket());
  const std::vector<FrameRule> rules = rules_of(parents);
  const auto once = [&](IfExists if_exists) {
    Batch batch;
    batch.add_table(kTable, if_exists);
    const std::vector<nft::Set> sets = add_sets(batch);
    add_chains(batch, parents, rules);
    for (const FrameRule& rule : rules) batch.add_rule(message_of(rule, sets));
    for (const auto& [set, keys] : elements) {
      batch.add_elements(kTable, layout_of(set).name, keys);
    }
    return batch.commit(netlink);
  };
  // As in install_filter(): replacement at once would cost 12 ms also where nothing is replaced.
  Status status = once(IfExists::kFail);
  if (!status.ok() && status.error().sys_errno() == EEXIST) status = once(IfExists::kReplace);
  if (status.ok()) return status;
  return explain(status.error());
}

Status Nftables::add(const Elements& elements) {
  nl::Socket& netlink = *TRY(socket());
  if (!stood_ && !TRY(nft::has_table(netlink, kTable)))
    return Error(Code::kNotFound, str("there is no table netdev ", kTable.name));
  Batch batch;
  for (const auto& [set, keys] : elements) batch.add_elements(kTable, layout_of(set).name, keys);
  return batch.commit(netlink);
}

Result<std::vector<Element>> Nftables::list(SetId set) {
  nl::Socket& netlink = *TRY(socket());
  return list_calmly<std::vector<Element>>(
      [&] { return nft::find_elements(netlink, kTable, layout_of(set).name); });
}

Result<std::vector<Counted>> Nftables::counts() {
  nl::Socket& netlink = *TRY(socket());
  std::vector<Counted> all;
  for (nft::FoundCount& found : TRY(list_calmly<std::vector<nft::FoundCount>>(
           [&] { return nft::find_counts(netlink, kTable); }))) {
    all.push_back({std::move(found.rule.chain), std::move(found.rule.comment), found.packets});
  }
  return all;
}

Result<Removed> Nftables::remove(const Elements& elements) {
  nl::Socket& netlink = *TRY(socket());
  Batch batch;
  for (const auto& [set, keys] : elements) {
    batch.remove_elements(kTable, layout_of(set).name, keys);
  }
  const Status status = batch.commit(netlink);
  if (status.ok()) return Removed::kNow;
  if (status.error().sys_errno() == ENOENT) return Removed::kWasAbsent;
  return status.error();
}

Result<Removed> Nftables::remove_all() {
  nl::Socket& netlink = *TRY(socket());
  return nft::remove_tables(netlink, {kTable});
}

}  // namespace netns::border
