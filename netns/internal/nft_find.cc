// SPDX-License-Identifier: Apache-2.0
#include "netns/internal/nft_find.h"

#include <arpa/inet.h>
#include <endian.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <string_view>

#include "base/names.h"
#include "base/text.h"

namespace netns::nft {

using namespace base::names;
using nl::Message;

namespace {

// User data is a list of type, length and value. Type 0 is the comment of a rule or an element,
// with a terminating zero (libnftnl, udata.h).
constexpr uint8_t kComment = 0;
constexpr size_t kMostComment = 120;

std::string comment_in(std::span<const uint8_t> data) {
  while (data.size() >= 2 && data.size() - 2 >= data[1]) {
    const std::span<const uint8_t> value = data.subspan(2, data[1]);
    if (data[0] == kComment) return {value.begin(), std::find(value.begin(), value.end(), 0)};
    data = data.subspan(2 + value.size());
  }
  return "";
}

std::span<const uint8_t> bytes_of(const nlattr* attribute) {
  if (attribute == nullptr) return {};
  return {static_cast<const uint8_t*>(nla_data(attribute)),
          static_cast<size_t>(nla_len(attribute))};
}

std::optional<Element> element_of(nlattr* item) {
  nlattr* parts[NFTA_SET_ELEM_MAX + 1] = {};
  nlattr* key[NFTA_DATA_MAX + 1] = {};
  if (nla_parse_nested(parts, NFTA_SET_ELEM_MAX, item, nullptr) < 0 ||
      parts[NFTA_SET_ELEM_KEY] == nullptr ||
      nla_parse_nested(key, NFTA_DATA_MAX, parts[NFTA_SET_ELEM_KEY], nullptr) < 0) {
    return std::nullopt;
  }
  const std::span<const uint8_t> value = bytes_of(key[NFTA_DATA_VALUE]);
  return Element{{value.begin(), value.end()}, comment_in(bytes_of(parts[NFTA_SET_ELEM_USERDATA]))};
}

// Returns the packets of a counter; unset if EXPRESSION is none.
std::optional<uint64_t> packets_of(const nlattr* expression) {
  nlattr* parts[NFTA_EXPR_MAX + 1] = {};
  nlattr* counter[NFTA_COUNTER_MAX + 1] = {};
  if (nla_parse_nested(parts, NFTA_EXPR_MAX, const_cast<nlattr*>(expression), nullptr) < 0)
    return std::nullopt;
  constexpr std::string_view kCounter("counter", sizeof "counter");  // with its zero
  const std::span<const uint8_t> name = bytes_of(parts[NFTA_EXPR_NAME]);
  if (!std::equal(name.begin(), name.end(), kCounter.begin(), kCounter.end()) ||
      parts[NFTA_EXPR_DATA] == nullptr ||
      nla_parse_nested(counter, NFTA_COUNTER_MAX, parts[NFTA_EXPR_DATA], nullptr) < 0) {
    return std::nullopt;
  }
  const std::span<const uint8_t> value = bytes_of(counter[NFTA_COUNTER_PACKETS]);
  uint64_t packets = 0;
  if (value.size() != sizeof packets) return std::nullopt;
  std::memcpy(&packets, value.data(), sizeof packets);
  return be64toh(packets);
}

std::optional<uint64_t> packets_in(std::span<const uint8_t> expressions) {
  const void* const first = expressions.data();
  int left = static_cast<int>(expressions.size());
  for (const auto* each = static_cast<const nlattr*>(first); nla_ok(each, left) != 0;
       each = nla_next(each, &left)) {
    if (const std::optional<uint64_t> packets = packets_of(each)) return packets;
  }
  return std::nullopt;
}

// The first attribute of what is in a table is the table's name.
static_assert(NFTA_CHAIN_TABLE == 1 && NFTA_RULE_TABLE == 1 && NFTA_SET_ELEM_LIST_TABLE == 1);

// Returns a request for all WHAT of TABLE. An absent table is not an error.
Message list_of(int type, const char* what, const Table& table) {
  Message message =
      request(type, NLM_F_DUMP, table.family,
              str("list the ", what, " of filter table ", quote(table.name)), kRequestBytes);
  message.put_text(NFTA_CHAIN_TABLE, table.name);
  message.request_ack();
  message.tolerate(ENOENT);
  return message;
}

using OnRule = std::function<void(FoundRule, const nl::Attributes&)>;
Status each_rule(nl::Socket& socket, const Table& table, const OnRule& on_rule) {
  Message message = list_of(NFT_MSG_GETRULE, "rules", table);
  return socket.exchange(message, [&](const nlmsghdr& reply) {
    const nl::Attributes found(reply, sizeof(nfgenmsg), NFTA_RULE_MAX);
    if (found.text(NFTA_RULE_TABLE) != table.name) return;
    on_rule({found.text(NFTA_RULE_CHAIN), comment_in(found.bytes(NFTA_RULE_USERDATA))}, found);
  });
}

}  // namespace

std::vector<uint8_t> to_user_data(const std::string& comment) {
  const std::string text = comment.substr(0, kMostComment);
  std::vector<uint8_t> data(text.size() + 3);  // type, length, text, final zero
  data[0] = kComment;
  data[1] = static_cast<uint8_t>(text.size() + 1);
  std::copy(text.begin(), text.end(), data.begin() + 2);
  return data;
}

Result<std::vector<FoundChain>> find_chains(nl::Socket& socket, const Table& table) {
  Message message = list_of(NFT_MSG_GETCHAIN, "chains", table);
  std::vector<FoundChain> chains;
  TRY(socket.exchange(message, [&](const nlmsghdr& reply) {
    const nl::Attributes found(reply, sizeof(nfgenmsg), NFTA_CHAIN_MAX);
    if (found.text(NFTA_CHAIN_TABLE) != table.name) return;
    const nl::Attributes hook = found.nested(NFTA_CHAIN_HOOK, NFTA_HOOK_MAX);
    chains.push_back({found.text(NFTA_CHAIN_NAME), hook.text(NFTA_HOOK_DEV),
                      comment_in(found.bytes(NFTA_CHAIN_USERDATA)),
                      ntohl(found.u32(NFTA_CHAIN_USE).value_or(0))});
  }));
  return chains;
}

Result<std::vector<FoundRule>> find_rules(nl::Socket& socket, const Table& table) {
  std::vector<FoundRule> rules;
  TRY(each_rule(socket, table,
                [&](FoundRule rule, const nl::Attributes&) { rules.push_back(std::move(rule)); }));
  return rules;
}

Result<std::vector<FoundCount>> find_counts(nl::Socket& socket, const Table& table) {
  std::vector<FoundCount> counts;
  TRY(each_rule(socket, table, [&](FoundRule rule, const nl::Attributes& found) {
    const std::optional<uint64_t> packets = packets_in(found.bytes(NFTA_RULE_EXPRESSIONS));
    if (packets) counts.push_back({std::move(rule), *packets});
  }));
  return counts;
}

Result<std::vector<Element>> find_elements(nl::Socket& socket, const Table& table,
                                           const std::string& set) {
  Message message = list_of(NFT_MSG_GETSETELEM, "elements", table);
  message.put_text(NFTA_SET_ELEM_LIST_SET, set);
  std::vector<Element> elements;
  TRY(socket.exchange(message, [&](const nlmsghdr& reply) {
    nlattr* parts[NFTA_SET_ELEM_LIST_MAX + 1] = {};
    if (nlmsg_parse(const_cast<nlmsghdr*>(&reply), sizeof(nfgenmsg), parts, NFTA_SET_ELEM_LIST_MAX,
                    nullptr) < 0 ||
        parts[NFTA_SET_ELEM_LIST_ELEMENTS] == nullptr) {
      return;
    }
    nlattr* const list = parts[NFTA_SET_ELEM_LIST_ELEMENTS];
    int left = nla_len(list);
    for (auto* item = static_cast<nlattr*>(nla_data(list)); nla_ok(item, left) != 0;
         item = nla_next(item, &left)) {
      std::optional<Element> element = element_of(item);
      if (element) elements.push_back(std::move(*element));
    }
  }));
  return elements;
}

}  // namespace netns::nft
