// SPDX-License-Identifier: Apache-2.0
// The prohibit routes of a Session, and the rules that lead to them.
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/names.h"
#include "base/text.h"
#include "netns/internal/nl.h"
#include "netns/internal/route_messages.h"
#include "netns/session.h"

namespace netns {

using namespace base::names;
using nl::Message;

namespace {

// A rule by which the kernel looks routes up, before the rule 32766 for all of main.
struct Rule {
  uint32_t preference;
  uint32_t table;
  bool is_without_default;  // a default route of the table does not count
};
constexpr std::array kRules{Rule{32000, RT_TABLE_MAIN, true}, Rule{32001, kProhibitTable, false}};

constexpr std::array<uint8_t, 2> kFamilies{AF_INET, AF_INET6};

Message rule_message(int type, uint8_t family, const Rule& rule) {
  const int flags = type == RTM_NEWRULE ? NLM_F_CREATE | NLM_F_EXCL : 0;
  Message message(type, flags, str("rule ", rule.preference));
  fib_rule_hdr header{};
  header.family = family;
  header.action = FR_ACT_TO_TBL;
  message.header(header);
  message.put_u32(FRA_PRIORITY, rule.preference);
  message.put_u32(FRA_TABLE, rule.table);
  if (rule.is_without_default) message.put_u32(FRA_SUPPRESS_PREFIXLEN, 0);
  message.tolerate(type == RTM_NEWRULE ? EEXIST : ENOENT);
  return message;
}

// A kernel without IPv6 reaches no IPv6 prefix anyway.
void tolerate_no_ipv6(Message& message) {
  message.tolerate(EOPNOTSUPP);
  message.tolerate(EAFNOSUPPORT);
}

void put_rules(std::vector<Message>& batch, int type, uint8_t family) {
  for (const Rule& rule : kRules) {
    batch.push_back(rule_message(type, family, rule));
    if (family == AF_INET6) tolerate_no_ipv6(batch.back());
  }
}

void put_route(std::vector<Message>& batch, int type, uint32_t table, const Prefix& to) {
  batch.push_back(
      route_message(type, RTN_PROHIBIT, table, to, str("prohibit route to ", to_string(to))));
  batch.back().put_u32(RTA_PRIORITY, kProhibitMetric);
  batch.back().tolerate(type == RTM_NEWROUTE ? EEXIST : ESRCH);
  if (!to.address.is_ipv4()) tolerate_no_ipv6(batch.back());
}

}  // namespace

bool is_prohibition(const Route& route) {
  return route.kind == RouteKind::kProhibit && route.metric == kProhibitMetric;
}

Status Session::ensure_prohibited(const std::vector<Prefix>& prefixes) {
  std::vector<Message> batch;
  for (const Prefix& prefix : prefixes) put_route(batch, RTM_NEWROUTE, kProhibitTable, prefix);
  for (const uint8_t family : kFamilies) {
    const bool has_any = std::any_of(
        prefixes.begin(), prefixes.end(),
        [family](const Prefix& prefix) { return address_family(prefix.address) == family; });
    if (has_any) put_rules(batch, RTM_NEWRULE, family);
  }
  return exchange_all(*socket_, batch);
}

Status Session::remove_prohibited(const std::vector<Route>& routes) {
  std::vector<Message> batch;
  for (const Route& route : routes) put_route(batch, RTM_DELROUTE, route.table, route.to);
  return exchange_all(*socket_, batch);
}

Status Session::remove_all_prohibited() {
  std::vector<Route> prohibitions = TRY(routes());
  std::erase_if(prohibitions, [](const Route& route) { return !is_prohibition(route); });
  TRY(remove_prohibited(prohibitions));
  std::vector<Message> batch;
  for (const uint8_t family : kFamilies) put_rules(batch, RTM_DELRULE, family);
  return exchange_all(*socket_, batch);
}

}  // namespace netns
