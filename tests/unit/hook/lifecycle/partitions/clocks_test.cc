// SPDX-License-Identifier: Apache-2.0
// Two hosts of a fleet whose clocks are hours apart. What host b has written says its time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

#include "base/names.h"
#include "hook/fleet/grants.h"
#include "hook/fleet/hosts.h"
#include "hook/fleet/suspects.h"
#include "hook/lifecycle/accounting.h"
#include "hook/lifecycle/open_fleet.h"
#include "tests/support/fleet_hosts.h"

namespace hook::lifecycle::partitions {
namespace {

using namespace base::names;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ClocksTest : public test::FleetHosts, public testing::WithParamInterface<int> {
 protected:
  static int64_t in_ms(milliseconds time) { return time.count(); }
  [[nodiscard]] static int64_t now_of_b() {
    return base::unix_millis() + in_ms(std::chrono::hours(GetParam()));
  }
  static bool is_behind() { return GetParam() < 0; }

  void share(const std::string& name, uint32_t guaranteed, uint32_t limit,
             milliseconds borrow_time = milliseconds(0)) {
    config::TenantConfig tenant;
    tenant.name = name;
    tenant.guaranteed = guaranteed;
    tenant.limit = limit;
    tenant.borrow_time = borrow_time;
    ASSERT_TRUE(test::succeeds(fleet::set_tenant(fleet(), tenant, 0)));
  }
  // A container of host b that has IPUs.
  void hold(const std::string& id, uint32_t ipus, const std::string& tenant) {
    fleet::Grant grant{"pod16", id, b_.ledger.host().tag(), "container", "", tenant};
    grant.ipus = ipus;
    grant.since_ms = now_of_b();
    ASSERT_TRUE(test::succeeds(fleet::grant_again(fleet(), grant)));
  }
  Status start(const std::string& container, uint32_t ipus, const std::string& tenant) {
    request::Request request;
    request.ipus = ipus;
    request.tenant = tenant;
    return a_.prepare(container, request);
  }
  std::vector<fleet::HostState> hosts() {
    std::vector<Error> obstacles;
    std::vector<fleet::HostState> all =
        fleet::list_hosts(store_, kPrefix_, soon(), obstacles).take();
    EXPECT_THAT(obstacles, IsEmpty());
    return all;
  }
  Status beat(test::HookHost& host, int64_t now_ms) {
    const std::string& tag = host.ledger.host().tag();
    return fleet::beat(store_, kPrefix_, {tag, tag, tag, "1.0", "boot"}, now_ms, soon());
  }
};

TEST_P(ClocksTest, ALimitHoldsWhateverTheClocksSay) {
  share("vision", 4, 8);
  hold("one", 6, "vision");
  EXPECT_TRUE(test::fails(start("two", 4, "vision"), Code::kBusy,
                          "tenant 'vision' has 6 of at most 8 IPUs"));
  EXPECT_TRUE(test::succeeds(start("two", 2, "vision")));
}

// As documented: the time of a loan is wrong by as much as the clocks differ, and no more.
TEST_P(ClocksTest, ALoanIsWrongByAsMuchAsTheClocksDiffer) {
  share("close", 0, 16, std::chrono::hours(4));
  share("far", 0, 16, std::chrono::hours(6));
  hold("one", 2, "close");
  hold("two", 2, "far");
  EXPECT_TRUE(test::succeeds(start("three", 2, "far")));
  const Status borrowed = start("four", 2, "close");
  if (is_behind())
    EXPECT_TRUE(test::fails(borrowed, Code::kBusy, "has borrowed 2 IPUs for longer than its"));
  else
    EXPECT_TRUE(test::succeeds(borrowed));
}

// Nobody has waited for so long that it passes those who are within their share.
TEST_P(ClocksTest, NoRequestAgesByTheClockOfAnotherHost) {
  share("vision", 8, 16);
  share("borrows", 0, 16);
  const milliseconds beside = std::chrono::hours(GetParam());
  wait_on(b_, "first", 16, "borrows", beside);
  EXPECT_TRUE(test::succeeds(start("own", 4, "vision")));
  EXPECT_TRUE(test::fails(start("more", 4, "borrows"), Code::kBusy, "1 request is ahead"));
}

TEST_P(ClocksTest, AHostLivesAndDiesByTheStoreAlone) {
  ASSERT_TRUE(fleet::join_fleet(store_, kPrefix_, soon()).ok());
  ASSERT_TRUE(test::succeeds(beat(a_, base::unix_millis())));
  ASSERT_TRUE(test::succeeds(beat(b_, now_of_b())));
  const std::vector<fleet::HostState> seen = hosts();
  ASSERT_THAT(seen, SizeIs(2));
  for (const fleet::HostState& one : seen) EXPECT_TRUE(one.is_alive) << one.host.tag;
  const std::vector<std::string> lines = fleet::clock_troubles(seen, base::unix_millis());
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], HasSubstr(b_.ledger.host().tag()));
  EXPECT_THAT(lines[0], HasSubstr(is_behind() ? " s behind this host's" : " s ahead of"));
  // Its own steady clock says how long this host has watched it.
  store_.advance(fleet::kAliveTime);
  ASSERT_TRUE(test::succeeds(beat(a_, base::unix_millis())));
  fleet::Observation watched;
  const std::string& me = a_.ledger.host().tag();
  for (int64_t at = 0; at <= in_ms(std::chrono::minutes(10)); at += 60'000) {
    watched = fleet::observe(watched, {"boot", at, 0, hosts(), {}});
    const bool is_due =
        !fleet::find_due(watched, hosts(), me, std::chrono::minutes(10)).hosts.empty();
    EXPECT_EQ(is_due, at == in_ms(std::chrono::minutes(10))) << at;
  }
}

// The clock of host a is set: what it tells goes on.
TEST_P(ClocksTest, WhatAHostHadIsToldAfterItsClockWasSet) {
  ASSERT_TRUE(fleet::join_fleet(store_, kPrefix_, soon()).ok());
  ASSERT_TRUE(test::succeeds(a_.ledger.host().join_fleet(
      kPrefix_, fleet::read_fleet_id(store_, kPrefix_, soon()).take())));
  const std::optional<OpenFleet> open = open_fleet(a_.env).take();
  ASSERT_TRUE(test::succeeds(tell_usage(a_.env, *open, a_.config.pools, "a", soon())));
  ledger::Told told = a_.ledger.usage().told().take().value();
  const int64_t now = told.at_ms;
  told.at_ms += in_ms(std::chrono::hours(GetParam()));  // it was told before the clock was set
  told.day = told.at_ms / ledger::kDayMs;
  ASSERT_TRUE(test::succeeds(a_.ledger.usage().tell(told)));
  ASSERT_TRUE(test::succeeds(tell_usage(a_.env, *open, a_.config.pools, "a", soon())));
  const ledger::Told then = a_.ledger.usage().told().take().value();
  EXPECT_GE(then.at_ms, now);
  EXPECT_LT(then.at_ms, now + 60'000) << "it was told again, by the clock as it is";
  EXPECT_LE(then.day, then.at_ms / ledger::kDayMs);
}

INSTANTIATE_TEST_SUITE_P(Hours, ClocksTest, testing::Values(-5, 5),
                         [](const auto& one) { return one.param < 0 ? "Behind" : "Ahead"; });

}  // namespace
}  // namespace hook::lifecycle::partitions
