// SPDX-License-Identifier: Apache-2.0
#include "netns/internal/border/rules.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace netns::border
