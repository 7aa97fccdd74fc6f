// SPDX-License-Identifier: Apache-2.0
// A host that fences another one by itself.
#include "hook/lifecycle/partitions/fence_due.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>

#include "base/names.h"
#include "hook/fleet/grants.h"
#include "hook/fleet/partitions.h"
#include "hook/lifecycle/partitions/hosts.h"
#include "tests/support/hook_host.h"
#include "tests/support/lent_store.h"

namespace hook::lifecycle::partitions {
namespace {

using namespace base::names;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kDead = "22222222";

class FenceDueTest : public testing::Test {
 protected:
  void SetUp() override {
    me_.config.fleet = config::FleetConfig{{"10.1.0.5:2379"}};
    me_.config.fleet->prefix = kPrefix;
    me_.config.fleet->fences_itself = true;
    me_.config.fleet->fence_witness = "/opt/bmc";
    me_.env.fleet = [this] { return me_.config.fleet; };
    me_.env.store = [this](const config::FleetConfig&) {
      return std::make_unique<test::LentStore>(store_, [this] { return fate_; });
    };
    ASSERT_TRUE(test::succeeds(me_.ledger.host().be_on({"1111111111111111"})));
    beat(kDead);
    store_.advance(std::chrono::seconds(31));
    vipu::PartitionRequest request;
    request.id = name_;
    request.size = 4;
    ASSERT_TRUE(test::succeeds(me_.controller.create(request, soon())));
  }
  static Deadline soon() { return test::HookHost::soon(); }
  void beat(const std::string& tag) {
    const fleet::HostFacts host{tag, "node-" + tag, "identity-" + tag, "1.0", "boot"};
    ASSERT_TRUE(test::succeeds(fleet::beat(store_, kPrefix, host, 1, soon())));
  }
  // Looks once, and this host has beaten.
  Result<std::vector<std::string>> look() {
    beat(me_.ledger.host().tag());
    obstacles_.clear();
    const auto witness = [this](const fleet::HostState& host) -> Result<Power> {
      asked_.push_back(host.host.tag);
      return says_;
    };
    return fence_due(me_.env, me_.config.pools, {"boot", now_}, witness, obstacles_);
  }
  Result<std::vector<std::string>> look_for(std::chrono::minutes time) {
    const int64_t end = now_ + std::chrono::milliseconds(time).count();
    for (; now_ < end; now_ += 20'000) {
      auto done = look();
      if (!done.ok() || !done.value().empty()) return done;
    }
    return look();
  }
  bool exists() { return !me_.controller.list(soon()).take().empty(); }
  bool is_fenced() { return fleet::find_fence(store_, kPrefix, kDead, soon()).take().has_value(); }

  const std::string kPrefix = "/f/";
  const std::string name_ = str("c-", kDead, "-0123456789ab");
  test::FakeStore store_;
  test::Call fate_ = test::Call::kAnswered;
  test::HookHost me_;
  int64_t now_ = 1000;
  Result<Power> says_ = Power::kOff;
  std::vector<std::string> asked_;
  std::vector<Error> obstacles_;
};

TEST_F(FenceDueTest, FencesAHostThatTheWitnessFindsOff) {
  EXPECT_THAT(look_for(std::chrono::minutes(9)).take(), IsEmpty());
  EXPECT_THAT(asked_, IsEmpty());
  const std::vector<std::string> done = look_for(std::chrono::minutes(2)).take();
  EXPECT_THAT(done, ElementsAre(HasSubstr("was not heard of for 10 minutes, and /opt/bmc says"),
                                "removed partition " + name_));
  EXPECT_THAT(obstacles_, IsEmpty());
  EXPECT_TRUE(is_fenced());
  EXPECT_FALSE(exists());
  EXPECT_THAT(me_.ledger.fences().all().take(), testing::SizeIs(1));
  EXPECT_THAT(look_for(std::chrono::minutes(30)).take(), IsEmpty());
  EXPECT_THAT(asked_, ElementsAre(kDead));
}

TEST_F(FenceDueTest, FencesNoneWhoseWitnessDoesNotAnswerAndSaysSo) {
  says_ = Error(Code::kTimeout, "ask '/opt/bmc': no answer");
  EXPECT_THAT(look_for(std::chrono::minutes(13)).take(), IsEmpty());
  EXPECT_THAT(asked_.size(), testing::AllOf(testing::Ge(3U), testing::Le(4U))) << "once a minute";
  EXPECT_FALSE(is_fenced());
  EXPECT_TRUE(exists());
  const auto told = [&] {
    int count = 0;
    for (const ledger::Event& one : me_.ledger.events().after(0, 1000).take())
      count += one.text.find("its witness does not answer: ask") != std::string::npos ? 1 : 0;
    return count;
  };
  EXPECT_EQ(told(), 1);
  const auto suspicion = [&] {
    return fleet::parse_observation(me_.ledger.fences().observed().take()).suspects.at(kDead);
  };
  EXPECT_EQ(suspicion().failure, "ask '/opt/bmc': no answer");
  EXPECT_LE(suspicion().failing_ms, now_ - 120'000);
  now_ += 60'000;
  ASSERT_THAT(look().take(), IsEmpty());
  ASSERT_THAT(obstacles_, testing::SizeIs(1));
  EXPECT_EQ(obstacles_[0].code(), Code::kInternal) << "the unit must fail";
  says_ = Power::kOff;
  now_ += 60'000;
  EXPECT_THAT(look().take(), testing::SizeIs(2));
}

// A host that is on was heard of: it is off for a moment when somebody starts it again.
TEST_F(FenceDueTest, BeginsAnewWhenTheWitnessFindsTheHostOn) {
  says_ = Power::kOn;
  EXPECT_THAT(look_for(std::chrono::minutes(12)).take(), IsEmpty());
  EXPECT_THAT(asked_, testing::SizeIs(1));
  says_ = Power::kOff;
  now_ += 20'000;
  EXPECT_THAT(look_for(std::chrono::minutes(7)).take(), IsEmpty());
  EXPECT_THAT(asked_, testing::SizeIs(1));
  EXPECT_THAT(look_for(std::chrono::minutes(3)).take(), testing::SizeIs(2));
  EXPECT_TRUE(is_fenced());
}

TEST_F(FenceDueTest, AsksAboutEachHostInItsTurn) {
  for (char digit = '3'; digit <= '9'; ++digit) beat(std::string(8, digit));
  store_.advance(std::chrono::seconds(31));
  for (char digit = 'a'; digit <= 'f'; ++digit) beat(std::string(8, digit));
  beat(std::string(8, '0'));
  says_ = Error(Code::kTimeout, "no answer");
  EXPECT_THAT(look_for(std::chrono::minutes(14)).take(), IsEmpty());
  EXPECT_EQ(std::set<std::string>(asked_.begin(), asked_.end()).size(), 8U);
}

// If the host lives, it is told what it may have lost.
TEST_F(FenceDueTest, IsToldToTheHostBeforeTheControllerIsAsked) {
  ASSERT_THAT(look_for(std::chrono::minutes(9)).take(), IsEmpty());
  me_.controller.set_unreachable(true);
  EXPECT_FALSE(look_for(std::chrono::minutes(11)).take().empty());
  EXPECT_FALSE(obstacles_.empty());
  EXPECT_TRUE(is_fenced());
  me_.controller.set_unreachable(false);
  EXPECT_TRUE(exists());
}

TEST_F(FenceDueTest, FinishesAFenceThatWasCutShort) {
  me_.controller.set_unreachable(true);
  EXPECT_THAT(look_for(std::chrono::minutes(11)).take(), testing::SizeIs(1));
  ASSERT_THAT(obstacles_, testing::SizeIs(1));
  EXPECT_EQ(obstacles_[0].code(), Code::kInternal) << "the unit must fail";
  EXPECT_THAT(obstacles_[0].message(), HasSubstr("is not finished"));
  me_.controller.set_unreachable(false);
  now_ += 20'000;
  EXPECT_THAT(look_for(std::chrono::minutes(2)).take(), IsEmpty());
  EXPECT_TRUE(exists());
  EXPECT_THAT(look_for(std::chrono::minutes(2)).take(),
              ElementsAre(HasSubstr("was cut short"), "removed partition " + name_));
  EXPECT_THAT(obstacles_, IsEmpty());
  EXPECT_TRUE(fleet::find_fence(store_, kPrefix, kDead, soon()).take()->is_finished);
  now_ += 20'000;
  EXPECT_THAT(look_for(std::chrono::minutes(5)).take(), IsEmpty());
}

// Its records are all that tells of what is left there.
TEST_F(FenceDueTest, IsNotFinishedWhileAControllerIsUnknownHere) {
  const fleet::HostFacts dead{kDead, "node", "identity",
                              "1.0", "boot", {{"pod2", "10.1.9.9:8090"}}};
  ASSERT_TRUE(test::succeeds(fleet::beat(store_, kPrefix, dead, 1, soon())));
  fleet::Txn meta;
  meta.puts = {{"/f/meta", R"({"version":1,"id":"0123456789abcdef"})"}};
  ASSERT_TRUE(test::succeeds(store_.commit(meta, soon())));
  const fleet::Fleet fleet{store_, kPrefix, soon()};
  fleet::Grant grant;
  grant.pool = "pod3";
  grant.id = "0123456789abcdef0123456789abcdef";
  grant.host = kDead;
  grant.ipus = 4;
  const auto granted = fleet::grant_at_once(fleet, {"pod3"}, grant);
  ASSERT_TRUE(test::succeeds(granted));
  ASSERT_TRUE(granted.value());
  store_.advance(std::chrono::seconds(31));
  std::vector<Error> obstacles;
  const auto names =
      fence_host(me_.env, me_.config.pools, kDead, fleet::IfAlive::kRefuse, soon(), obstacles);
  ASSERT_TRUE(test::succeeds(names));
  EXPECT_THAT(names.value(), ElementsAre(name_));
  ASSERT_THAT(obstacles, testing::SizeIs(2));
  EXPECT_THAT(obstacles[0].message(),
              HasSubstr("pool 'pod2' at controller 10.1.9.9:8090, which this"));
  EXPECT_THAT(obstacles[1].message(), HasSubstr("pool 'pod3', which this"));
  EXPECT_TRUE(is_fenced());
  EXPECT_FALSE(fleet::find_fence(store_, kPrefix, kDead, soon()).take()->is_finished);
  EXPECT_THAT(fleet::list_grants(fleet, obstacles).take(), testing::SizeIs(1));
  // A host that has them finishes it.
  std::vector<config::PoolConfig> pools = me_.config.pools;
  pools.push_back(pools.front());
  pools.back().name = "pod2";
  pools.back().controller = "10.1.9.9:8090";
  pools.push_back(pools.front());
  pools.back().name = "pod3";
  obstacles.clear();
  ASSERT_TRUE(test::succeeds(
      fence_host(me_.env, pools, kDead, fleet::IfAlive::kRefuse, soon(), obstacles)));
  EXPECT_THAT(obstacles, IsEmpty());
  EXPECT_TRUE(fleet::find_fence(store_, kPrefix, kDead, soon()).take()->is_finished);
}

// No host has the pool any more.
TEST_F(FenceDueTest, IsFinishedWithoutAnUnknownControllerIfItIsTold) {
  const fleet::HostFacts dead{kDead, "node", "identity", "1.0", "boot", {{"pod2", "gone:8090"}}};
  ASSERT_TRUE(test::succeeds(fleet::beat(store_, kPrefix, dead, 1, soon())));
  fleet::Txn grant;  // of a warm partition
  grant.puts = {{"/f/meta", R"({"version":1,"id":"0123456789abcdef"})"},
                {"/f/grants/pod2/0123456789abcdef0123456789abcdef",
                 str(R"({"host":")", kDead, R"(","partition":"f-01234567-0123456789ab"})")}};
  ASSERT_TRUE(test::succeeds(store_.commit(grant, soon())));
  store_.advance(std::chrono::seconds(31));
  std::vector<Error> obstacles;
  const auto fenced = fence_host(me_.env, me_.config.pools, kDead, fleet::IfAlive::kRefuse, soon(),
                                 obstacles, Unreached::kLeave);
  ASSERT_TRUE(test::succeeds(fenced));
  EXPECT_THAT(obstacles, IsEmpty());
  EXPECT_TRUE(fleet::find_fence(store_, kPrefix, kDead, soon()).take()->is_finished);
}

// Until then the host, if it lives, makes partitions that nobody would look for again.
TEST_F(FenceDueTest, LooksForPartitionsOnceTheHostIsDeclaredDead) {
  const auto controller = me_.env.controller;
  me_.env.controller = [&](const config::PoolConfig& pool) {
    EXPECT_TRUE(is_fenced());
    return controller(pool);
  };
  EXPECT_THAT(look_for(std::chrono::minutes(11)).take(), testing::SizeIs(2));
  EXPECT_FALSE(exists());
}

TEST_F(FenceDueTest, FencesNoneWithoutTheStore) {
  ASSERT_THAT(look_for(std::chrono::minutes(9)).take(), IsEmpty());
  now_ += 60'000;
  fate_ = test::Call::kFails;
  const auto witness = [](const fleet::HostState&) -> Result<Power> { return Power::kOff; };
  EXPECT_TRUE(test::fails(fence_due(me_.env, me_.config.pools, {"boot", now_}, witness, obstacles_),
                          Code::kUnavailable));
  EXPECT_TRUE(exists());
}

TEST_F(FenceDueTest, FencesNoneWhileARecordCannotBeRead) {
  fleet::Txn txn;
  txn.puts = {{"/f/hosts/33333333", "x"}};
  ASSERT_TRUE(test::succeeds(store_.commit(txn, soon())));
  EXPECT_THAT(look_for(std::chrono::minutes(11)).take(), IsEmpty());
  EXPECT_FALSE(obstacles_.empty());
  EXPECT_TRUE(exists());
}

TEST_F(FenceDueTest, DoesNothingUnlessItIsTold) {
  me_.config.fleet->fences_itself = false;
  EXPECT_TRUE(test::fails(look(), Code::kUnsupported, "fence = \"auto\""));
}

TEST_F(FenceDueTest, RemembersNothingWhileAllHostsAreAlive) {
  beat(kDead);
  ASSERT_THAT(look().take(), IsEmpty());
  EXPECT_EQ(me_.ledger.fences().observed().take(), "");
}

class WitnessTest : public testing::Test {
 protected:
  void write(const std::string& text, mode_t mode = 0755) {
    ASSERT_TRUE(test::succeeds(base::write_atomic(path_, text, {mode, {}, {}})));
  }
  Result<Power> ask() {
    fleet::HostState host;
    host.host.tag = kDead;
    host.host.name = "node 2";
    return ask_witness(path_, host);
  }
  test::TempDir dir_;
  const std::string path_ = dir_ / "witness";
};

TEST_F(WitnessTest, SaysOffByStatusZeroAlone) {
  write("#!/bin/sh\n[ \"$1/$2\" = '22222222/node 2' ] && [ -z \"$HOME\" ]\n");
  EXPECT_EQ(ask().take(), Power::kOff);
  write("#!/bin/sh\nexit 1\n");
  EXPECT_EQ(ask().take(), Power::kOn);
  write("#!/bin/sh\nexit 3\n");
  EXPECT_TRUE(test::fails(ask(), Code::kInternal, "status 3"));
  write("#!/bin/sh\nkill -9 $$\n");
  EXPECT_TRUE(test::fails(ask(), Code::kInternal, "status 137"));
}

TEST_F(WitnessTest, IsNotAskedIfOthersCanChangeIt) {
  write("#!/bin/sh\n", 0775);
  EXPECT_TRUE(test::fails(ask(), Code::kDenied, "chmod go-w"));
  write("#!/bin/sh\n", 0755);
  ASSERT_EQ(::chmod(std::string(dir_ / "").c_str(), 0777), 0);
  EXPECT_TRUE(test::fails(ask(), Code::kDenied, "chmod go-w"));
  ASSERT_EQ(::chmod(std::string(dir_ / "").c_str(), 0755), 0);
  ASSERT_TRUE(test::succeeds(base::remove_file(path_)));
  EXPECT_TRUE(test::fails(ask(), Code::kNotFound, "fence_witness"));
}

}  // namespace
}  // namespace hook::lifecycle::partitions
