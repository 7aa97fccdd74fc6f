// SPDX-License-Identifier: Apache-2.0
#include "vipu/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/outcome.h"

namespace vipu {
namespace {

using base::Code;
using testing::ElementsAre;

constexpr int64_t kMinute = 60'000;

// Takes an IPU through SEEN, one observation a minute, from minute 1 on.
IpuHealth history(const std::string& seen, IpuHealth health = {}, const Damping& damping = {}) {
  int64_t now = 0;
  for (const char one : seen) {
    now += kMinute;
    const Observation look{"a", one == 'g', one == 'g' ? "" : "parity error"};
    health = after(std::move(health), look, damping, now);
  }
  return health;
}

TEST(HealthTest, IsBadAfterThreeBadLooksInFive) {
  EXPECT_EQ(history("bb").taint, Taint::kNone);
  EXPECT_EQ(history("bbggb").taint, Taint::kCheck);
  EXPECT_EQ(history("bbgggb").taint, Taint::kNone) << "in six";
  EXPECT_EQ(history("ggggggggbgg").taint, Taint::kNone) << "one wrong look";
  const IpuHealth bad = history("bbb");
  EXPECT_EQ(bad.ipu, "a");
  EXPECT_EQ(bad.reason, "parity error");
  EXPECT_EQ(bad.since_ms, 3 * kMinute);
  EXPECT_EQ(history("gggggbbbg").seen, "gbbbg");
}

TEST(HealthTest, IsGoodAgainAnHourAfterItWasSeenBadLast) {
  EXPECT_EQ(history("bbb" + std::string(59, 'g')).taint, Taint::kCheck);
  const IpuHealth good = history("bbb" + std::string(60, 'g'));
  EXPECT_EQ(good.taint, Taint::kNone);
  EXPECT_EQ(good.reason, "");
  EXPECT_EQ(good.since_ms, 63 * kMinute);
  EXPECT_EQ(history("bbb" + std::string(50, 'g') + "b" + std::string(59, 'g')).taint, Taint::kCheck)
      << "it flaps";
}

TEST(HealthTest, IsDampedAsThePoolSays) {
  using std::chrono::minutes;
  EXPECT_EQ(history("b", {}, {1, 1, minutes(0)}).taint, Taint::kCheck);
  EXPECT_EQ(history("bg", {}, {1, 1, minutes(0)}).taint, Taint::kNone) << "no hold";
  EXPECT_EQ(history("bggb", {}, {8, 2, minutes(5)}).taint, Taint::kCheck);
  EXPECT_EQ(history("bggb", {}, {3, 2, minutes(5)}).taint, Taint::kNone);
  EXPECT_EQ(history("bbgggg", {}, {8, 2, minutes(5)}).taint, Taint::kCheck);
  EXPECT_EQ(history("bbggggg", {}, {8, 2, minutes(5)}).taint, Taint::kNone);
  IpuHealth longer;
  longer.seen = "bbbbbbbb";  // of a time when more counted
  EXPECT_EQ(history("g", longer, {2, 2, minutes(5)}).seen, "bg");
}

TEST(HealthTest, NeverClearsTheTaintOfAnOperator) {
  const IpuHealth tainted{"a", Taint::kOperator, "fan", "", 0, 7};
  const IpuHealth later = history("bbb" + std::string(200, 'g'), tainted);
  EXPECT_EQ(later.taint, Taint::kOperator);
  EXPECT_EQ(later.reason, "fan");
  EXPECT_EQ(later.since_ms, 7);
}

const std::vector<std::string> kIpus = {"10.5.1.1:0", "10.5.1.1:1"};

TEST(HealthTest, ReadsWhatTheCommandNamesOfThePool) {
  EXPECT_THAT(parse_health(R"({"ipus":[{"ipu":"10.5.1.1:1","good":false,"reason":"hot"},
                                       {"ipu":"10.5.9.9:0","good":true}]})",
                           kIpus)
                  .take(),
              ElementsAre(Observation{"10.5.1.1:1", false, "hot"}));
}

TEST(HealthTest, WhatGcMonitorDoesNotListIsBad) {
  EXPECT_THAT(parse_health(R"({"cards":[{"IPU-M":"10.5.1.1","Type":"M2000",
                                         "ipus":[{"ID":"0","PCIe ID":"1","Serial":"x"}]}]})",
                           kIpus)
                  .take(),
              ElementsAre(Observation{"10.5.1.1:0", false, "gc-monitor does not list it"},
                          Observation{"10.5.1.1:1"}));
  EXPECT_TRUE(test::fails(parse_health(R"({"cards":[]})", kIpus), Code::kInvalid,
                          "lists no IPU of the pool"));
}

TEST(HealthTest, RefusesAnythingElse) {
  for (const char* text :
       {"", "[]", "{}", "{\"ipus\":{}}", "{\"ipus\":[{\"ipu\":\"a\"}]}",
        "{\"ipus\":[{\"ipu\":\"a\\n\",\"good\":true}]}",
        "{\"ipus\":[{\"ipu\":\"a\",\"good\":false}]}", "{\"cards\":[{\"ipus\":[]}]}"}) {
    EXPECT_TRUE(test::fails(parse_health(text, kIpus), Code::kInvalid)) << text;
  }
}

}  // namespace
}  // namespace vipu
