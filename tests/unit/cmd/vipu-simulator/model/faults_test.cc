// SPDX-License-Identifier: Apache-2.0
// Fault plans and users of the simulator.
#include "cmd/vipu-simulator/model/faults.h"

#include <gtest/gtest.h>

#include "cmd/vipu-simulator/model/users.h"
#include "tests/support/outcome.h"

namespace vipu::simulator {
namespace {

using base::Code;

vipu::simulator::FaultPlan plan(const std::string& faults) {
  base::Result<vipu::simulator::FaultPlan> parsed =
      vipu::simulator::FaultPlan::parse(R"({"faults":[)" + faults + "]}");
  EXPECT_TRUE(test::succeeds(parsed));
  return parsed.ok() ? std::move(parsed).take() : vipu::simulator::FaultPlan();
}

bool hits(vipu::simulator::FaultPlan& plan, const char* call, const char* partition = "") {
  return plan.hit(call, partition).has_value();
}

TEST(FaultPlanTest, ReadsEveryKey) {
  vipu::simulator::FaultPlan all =
      plan(R"({"call":"CreatePartition","partition":"c-*","action":"lose_reply","delay":"2s",)"
           R"("status":"UNAVAILABLE","message":"m","skip":0,"times":0,"probability":1})");
  const std::optional<vipu::simulator::Fault> fault = all.hit("CreatePartition", "c-1");
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->action, vipu::simulator::Action::kLoseReply);
  EXPECT_EQ(fault->delay, std::chrono::milliseconds(2000));
  EXPECT_EQ(fault->status, 14);
  EXPECT_EQ(fault->message, "m");
  EXPECT_EQ(fault->times, 0U);
}

TEST(FaultPlanTest, KnowsEveryActionByItsName) {
  for (const char* name : {"status", "hang", "drop_before", "lose_reply", "disconnect", "garbage",
                           "error_state", "stuck_pending"}) {
    const std::string extra = name == std::string("status") ? R"(,"status":"INTERNAL")" : "";
    vipu::simulator::FaultPlan one =
        plan(R"({"call":"*","action":")" + std::string(name) + "\"" + extra + "}");
    const std::optional<vipu::simulator::Fault> fault = one.hit("ResetPartition", "p0");
    ASSERT_TRUE(fault.has_value()) << name;
    EXPECT_STREQ(vipu::simulator::name_of(fault->action), name);
  }
}

TEST(FaultPlanTest, HitsSoManyCallsAfterThoseThatItSkips) {
  vipu::simulator::FaultPlan some =
      plan(R"({"call":"GetVersion","skip":1,"times":2,"action":"hang"})");
  std::string pattern;
  for (int i = 0; i < 5; ++i) pattern += hits(some, "GetVersion") ? 'x' : '.';
  EXPECT_EQ(pattern, ".xx..");
}

TEST(FaultPlanTest, HitsOneCallUnlessToldOtherwiseAndAllWithTimes0) {
  vipu::simulator::FaultPlan once = plan(R"({"call":"*","action":"hang"})");
  EXPECT_TRUE(hits(once, "GetVersion"));
  EXPECT_FALSE(hits(once, "GetVersion"));
  vipu::simulator::FaultPlan ever = plan(R"({"call":"*","times":0,"action":"hang"})");
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(hits(ever, "GetVersion"));
}

TEST(FaultPlanTest, MatchesCallsAndPartitions) {
  vipu::simulator::FaultPlan exact =
      plan(R"({"call":"*","partition":"p1","times":0,"action":"hang"})");
  EXPECT_TRUE(hits(exact, "RemovePartition", "p1"));
  EXPECT_FALSE(hits(exact, "RemovePartition", "p10"));
  EXPECT_FALSE(hits(exact, "ListPartitions"));
  vipu::simulator::FaultPlan prefix =
      plan(R"({"call":"CreatePartition","partition":"p1*","times":0,"action":"hang"})");
  EXPECT_TRUE(hits(prefix, "CreatePartition", "p10"));
  EXPECT_FALSE(hits(prefix, "CreatePartition", "p2"));
  EXPECT_FALSE(hits(prefix, "RemovePartition", "p1"));
  vipu::simulator::FaultPlan any =
      plan(R"({"call":"*","partition":"*","times":0,"action":"hang"})");
  EXPECT_TRUE(hits(any, "CreatePartition", "p"));
  EXPECT_FALSE(hits(any, "ListPartitions"));
}

TEST(FaultPlanTest, AnErrorStateHitsOnlyWhatMakesPartitions) {
  vipu::simulator::FaultPlan all =
      plan(R"({"call":"*","action":"error_state","errors":["a","b"]})");
  EXPECT_FALSE(hits(all, "GetPartitionStatus", "p0"));
  const std::optional<vipu::simulator::Fault> fault = all.hit("ResetPartition", "p0");
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->errors, (std::vector<std::string>{"a", "b"}));
}

TEST(FaultPlanTest, TheFirstThatIsDueCounts) {
  vipu::simulator::FaultPlan two =
      plan(R"({"call":"GetVersion","action":"hang"},{"call":"*","action":"garbage","times":0})");
  EXPECT_EQ(two.hit("GetVersion", "")->action, vipu::simulator::Action::kHang);
  EXPECT_EQ(two.hit("GetVersion", "")->action, vipu::simulator::Action::kGarbage);
}

TEST(FaultPlanTest, ChanceIsTheSameForTheSameSeed) {
  const auto pattern_of = [](const std::string& seed) {
    vipu::simulator::FaultPlan chance =
        vipu::simulator::FaultPlan::parse(R"({"seed":)" + seed +
                                          R"(,"faults":[{"call":"*","times":0,"probability":0.3,)"
                                          R"("action":"hang"}]})")
            .take();
    std::string pattern;
    for (int i = 0; i < 1000; ++i) pattern += hits(chance, "GetVersion") ? 'x' : '.';
    return pattern;
  };
  const std::string pattern = pattern_of("1");
  EXPECT_EQ(pattern, pattern_of("1"));
  EXPECT_NE(pattern, pattern_of("2"));
  const auto count = std::count(pattern.begin(), pattern.end(), 'x');
  EXPECT_GT(count, 200);
  EXPECT_LT(count, 400);
}

TEST(FaultPlanTest, ABadPlanIsRefusedWithTheKeyThatIsWrong) {
  const struct {
    const char* fault;
    const char* key;
  } cases[] = {
      {R"({"action":"hang"})", "'call'"},
      {R"({"call":"Create","action":"hang"})", "'call'"},
      {R"({"call":"*"})", "'action'"},
      {R"({"call":"*","action":"explode"})", "'action'"},
      {R"({"call":"*","action":"delay"})", "'delay'"},
      {R"({"call":"*","action":"delay","delay":"2"})", "'delay'"},
      {R"({"call":"*","action":"status"})", "'status'"},
      {R"({"call":"*","action":"status","status":"OK"})", "'status'"},
      {R"({"call":"*","action":"status","status":"BAD"})", "'status'"},
      {R"({"call":"*","action":"hang","status":"INTERNAL"})", "'status'"},
      {R"({"call":"*","action":"hang","skip":-1})", "'skip'"},
      {R"({"call":"*","action":"hang","times":"1"})", "'times'"},
      {R"({"call":"*","action":"hang","probability":0})", "'probability'"},
      {R"({"call":"*","action":"hang","probability":1.5})", "'probability'"},
      {R"({"call":"*","action":"error_state","errors":[]})", "'errors'"},
      {R"({"call":"*","action":"error_state","errors":[1]})", "'errors'"},
      {R"({"call":"*","action":"hang","errors":["x"]})", "'errors'"},
      {R"({"call":"GetVersion","action":"error_state"})", "'call'"},
      {R"({"call":"*","action":"hang","colour":"red"})", "'colour'"},
  };
  for (const auto& c : cases) {
    const std::string text = R"({"faults":[)" + std::string(c.fault) + "]}";
    EXPECT_TRUE(test::fails(vipu::simulator::FaultPlan::parse(text), Code::kInvalid, c.key))
        << c.fault;
    EXPECT_TRUE(test::fails(vipu::simulator::FaultPlan::parse(text), Code::kInvalid, "faults[0]"))
        << c.fault;
  }
  for (const char* text : {"", "[]", "{}", R"({"faults":{}})", R"({"faults":[],"sed":1})",
                           R"({"faults":[],"seed":"x"})"}) {
    EXPECT_TRUE(test::fails(vipu::simulator::FaultPlan::parse(text), Code::kInvalid)) << text;
  }
}

TEST(UsersTest, AUserWithTheRightKeyMayUseTheUsersAllocations) {
  const vipu::simulator::Pod pod =
      vipu::simulator::parse_pod({"pod16", "10.5.1.0/24", "", {"a=ag1", "b=ag2"}}).take();
  const base::Result<vipu::simulator::Users> users = vipu::simulator::Users::parse(
      R"({"alice":{"key":"k1","allocations":["a"]},"root":{"key":"k2"}})", pod);
  ASSERT_TRUE(test::succeeds(users));
  const base::Result<vipu::simulator::Access> alice = users.value().authenticate("alice", "k1");
  ASSERT_TRUE(test::succeeds(alice));
  EXPECT_TRUE(alice.value().covers("a"));
  EXPECT_FALSE(alice.value().covers("b"));
  EXPECT_TRUE(users.value().authenticate("root", "k2").take().covers("b"));
}

TEST(UsersTest, WrongNamesAndWrongKeysAreRefusedAlike) {
  const vipu::simulator::Pod pod = vipu::simulator::parse_pod({"pod16"}).take();
  const vipu::simulator::Users users =
      vipu::simulator::Users::parse(R"({"alice":{"key":"secret"}})", pod).take();
  const struct {
    const char* name;
    const char* key;
  } cases[] = {{"alice", ""},     {"alice", "secre"}, {"alice", "secret1"}, {"alice", "Secret"},
               {"bob", "secret"}, {"", ""},           {"bob", ""}};
  for (const auto& c : cases) {
    const base::Result<vipu::simulator::Access> access = users.authenticate(c.name, c.key);
    ASSERT_TRUE(test::fails(access, Code::kDenied)) << c.name << " " << c.key;
    EXPECT_EQ(access.error().message(), "unknown user or wrong access key");
  }
}

TEST(UsersTest, ABadFileIsRefusedWithoutAKeyInTheMessage) {
  const vipu::simulator::Pod pod = vipu::simulator::parse_pod({"pod16"}).take();
  for (const char* bad :
       {"", "[]", "{}", R"({"alice":"secret"})", R"({"alice":{"key":7}})",
        R"({"alice":{"key":""}})", R"({"alice":{"key":"secret","allocations":["x"]}})",
        R"({"alice":{"key":"secret","allocations":"alloc-1"}})",
        R"({"alice":{"key":"secret","admin":true}})"}) {
    const base::Result<vipu::simulator::Users> users = vipu::simulator::Users::parse(bad, pod);
    ASSERT_TRUE(test::fails(users, Code::kInvalid)) << bad;
    EXPECT_EQ(users.error().message().find("secret"), std::string::npos) << bad;
  }
}

}  // namespace
}  // namespace vipu::simulator
