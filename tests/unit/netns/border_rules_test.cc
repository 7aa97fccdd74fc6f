// SPDX-License-Identifier: Apache-2.0
#include "netns/internal/border/rules.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>

namespace netns::border {
namespace {

std::vector<FrameRule> sample() {
  return rules_of({{1, "rail0", {{2, 0, 0, 0, 0, 1}}, Others::kDrop},
                   {2, "rail1", {{2, 0, 0, 0, 0, 2}}, Others::kPass}});
}

// A border of other rules must not pass for one of these.
TEST(BorderRules, HaveTheFingerprintThatChainsCarry) {
  EXPECT_EQ(fingerprint(sample()), kRulesFingerprint) << "write this value into rules.h";
}

TEST(BorderRules, HaveAnotherFingerprintIfAnythingDiffers) {
  const auto differs = [](auto change) {
    std::vector<FrameRule> rules = sample();
    change(rules.front());
    return fingerprint(rules) != fingerprint(sample());
  };
  ASSERT_FALSE(sample().front().conditions.empty());
  EXPECT_TRUE(differs([](FrameRule& rule) { rule.chain += "x"; }));
  EXPECT_TRUE(differs([](FrameRule& rule) { rule.comment += "x"; }));
  EXPECT_TRUE(differs([](FrameRule& rule) { rule.target += "x"; }));
  EXPECT_TRUE(differs([](FrameRule& rule) { rule.verdict = Verdict::kAccept; }));
  EXPECT_TRUE(differs([](FrameRule& rule) { rule.is_counted = !rule.is_counted; }));
  EXPECT_TRUE(differs([](FrameRule& rule) { rule.remembered = Field{6, 6}; }));
  EXPECT_TRUE(differs([](FrameRule& rule) { rule.conditions.pop_back(); }));
  EXPECT_TRUE(differs([](FrameRule& rule) { rule.conditions[0].fields[0].offset += 1; }));
  EXPECT_TRUE(differs([](FrameRule& rule) { rule.conditions[0].fields[0].size += 1; }));
  EXPECT_TRUE(differs([](FrameRule& rule) { rule.conditions[0].mask.push_back(1); }));
  EXPECT_TRUE(differs([](FrameRule& rule) { rule.conditions[0].value.push_back(1); }));
  EXPECT_TRUE(differs([](FrameRule& rule) { rule.conditions[0].first += 1; }));
  EXPECT_TRUE(differs([](FrameRule& rule) { rule.conditions[0].last += 1; }));
  EXPECT_TRUE(differs([](FrameRule& rule) { rule.conditions[0].set = SetId::kOthers; }));
  EXPECT_TRUE(
      differs([](FrameRule& rule) { rule.conditions[0].kind = Condition::Kind::kOwnSocket; }));
}

TEST(BorderRules, ThatDropAreFoundByTheBeginningOfTheirComment) {
  std::set<std::string> found;
  for (const FrameRule& rule : sample()) {
    const std::optional<std::string> drop = find_drop(rule.chain, rule.comment);
    EXPECT_EQ(drop.has_value(), rule.verdict == Verdict::kDrop) << rule.chain << rule.comment;
    if (!drop) continue;
    EXPECT_EQ(*drop, rule.comment);
    found.insert(rule.chain + ": " + rule.comment);
  }
  EXPECT_EQ(found,
            (std::set<std::string>{
                "egress-rail0: ARP of the host with another MAC", "egress-rail0: others",
                "egress-rail1: ARP of the host with another MAC", "egress-rail1: others",
                "from-container: all else", "from-ipv6: other discovery", "no-container: VLAN 0",
                "no-container: VLAN 0 of a provider", "no-container: claims an IPv4 address",
                "no-container: claims an IPv6 address", "no-container: claims an address by ARP",
                "to-container: all else"}));
  EXPECT_EQ(find_drop("egress-rail0", "ARP of the host with an"),
            "ARP of the host with another MAC");
  EXPECT_EQ(find_drop("forward", ""), std::nullopt);
  EXPECT_EQ(find_drop("from-container", "all else, too"), std::nullopt);
}

}  // namespace
}  // namespace netns::border
