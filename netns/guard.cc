// SPDX-License-Identifier: Apache-2.0
#include "netns/guard.h"

// First, so that the kernel's own definitions give way.
#include <netinet/in.h>

#include <linux/netfilter.h>

#include <cerrno>
#include <functional>
#include <utility>

#include "base/names.h"
#include "base/text.h"
#include "netns/internal/nft.h"
#include "netns/internal/nft_find.h"
#include "netns/internal/nft_table.h"

namespace netns {

using namespace base::names;
using base::Removed;
using nft::Batch;
using nft::Rule;

namespace {

constexpr nft::Table kTable{NFPROTO_INET, nft::kGuardName};
constexpr const char* kForward = "forward";
constexpr std::string_view kNotFrom = "not from ";  // comment of the rule of each prefix

// A rule, and the comment by which it is found again: it says all that the rule does.
struct Commented {
  std::string comment;
  nl::Message message;
};

template <typename End>
Commented commented(std::string comment, Rule rule, End end) {
  rule.count().comment(comment);
  return {std::move(comment), end(std::move(rule))};
}
nl::Message accepted(Rule&& rule) { return std::move(rule).accept(); }
nl::Message dropped(Rule&& rule) { return std::move(rule).drop(); }

std::vector<Commented> rules_of(const Guard& guard) {
  const auto rule = [] { return Rule(kTable, kForward); };
  std::vector<Commented> rules;
  // Who pretends to be a guarded address could make the answer to that a connection of its own.
  for (const Prefix& prefix : guard.prefixes) {
    rules.push_back(commented(str(kNotFrom, to_string(prefix)),
                              std::move(rule().from_network(prefix).has_wrong_origin()), dropped));
  }
  rules.push_back(commented("answers", std::move(rule().is_answer()), accepted));
  for (const Prefix& prefix : guard.allowed) {
    const std::string text = to_string(prefix);
    rules.push_back(
        commented("allowed from " + text, std::move(rule().from_network(prefix)), accepted));
    rules.push_back(
        commented("allowed to " + text, std::move(rule().to_network(prefix)), accepted));
  }
  for (const std::string& interface : guard.interfaces) {
    rules.push_back(
        commented("to interface " + interface, std::move(rule().leaves_by(interface)), dropped));
  }
  for (const Prefix& prefix : guard.prefixes) {
    rules.push_back(
        commented("to " + to_string(prefix), std::move(rule().to_network(prefix)), dropped));
  }
  return rules;
}

Result<std::vector<nft::FoundRule>> find_rules(const Namespace& host) {
  nl::Socket socket = TRY(nl::Socket::open(host, NETLINK_NETFILTER));
  return nft::find_rules(socket, kTable);
}

Result<bool> stands(const Namespace& host, const Guard& guard) {
  const std::vector<nft::FoundRule> found = TRY(find_rules(host));
  std::vector<nft::FoundRule> wanted;
  for (const Commented& rule : rules_of(guard)) wanted.push_back({kForward, rule.comment});
  return found == wanted;
}

Status make(const Namespace& host, const Guard& guard) {
  Batch batch;
  batch.add_table(kTable, nft::IfExists::kReplace);
  batch.add_chain(kTable, kForward, NF_INET_FORWARD);
  for (Commented& rule : rules_of(guard)) batch.add_rule(std::move(rule.message));
  return batch.commit(host);
}

}  // namespace

Result<Ensured> ensure_guard(const Namespace& host, const Guard& guard) {
  const Result<bool> found = stands(host, guard);
  // A list is incomplete if the rules change meanwhile; the guard is then made anew.
  if (!found.ok() && found.error().sys_errno() != EINTR) return found.error();
  if (found.ok() && found.value()) return Ensured::kWasThere;
  const Status made = make(host, guard);
  if (made.ok()) return Ensured::kMade;
  if (!nft::is_missing(made.error().sys_errno())) return made.error();
  return Error(Code::kUnsupported,
               str("this kernel cannot filter what the host forwards; load the modules nf_tables,"
                   " nft_ct and nft_fib_inet, or set guard_forwarding = false in [network] (",
                   made.error().message(), ')'));
}

Result<bool> has_guard(const Namespace& host) {
  const std::vector<nft::FoundRule> found = TRY(find_rules(host));
  return !found.empty();
}

Result<std::vector<Prefix>> guarded_prefixes(const Namespace& host) {
  std::vector<Prefix> prefixes;
  for (const nft::FoundRule& rule : TRY(find_rules(host))) {
    if (!rule.comment.starts_with(kNotFrom)) continue;
    // Others may write such a comment, too.
    const Result<Prefix> prefix = parse_prefix(rule.comment.substr(kNotFrom.size()));
    if (prefix.ok()) prefixes.push_back(prefix.value());
  }
  return prefixes;
}

Result<Removed> remove_guard(const Namespace& host) { return nft::remove_tables(host, {kTable}); }

}  // namespace netns
