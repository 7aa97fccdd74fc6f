// SPDX-License-Identifier: Apache-2.0
// What a host tells its fleet of its usage: hook/lifecycle/accounting.h.
#include "hook/lifecycle/accounting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "base/names.h"
#include "tests/support/fleet_hosts.h"

namespace hook::lifecycle {
namespace {

using namespace base::names;
using ledger::kDayMs;
using testing::IsEmpty;
using testing::SizeIs;

class AccountingTest : public test::FleetHosts {
 protected:
  static int64_t today() { return base::unix_millis() / kDayMs; }
  static void use(test::HookHost& host, const std::string& container, const std::string& tenant) {
    request::Request request;
    request.ipus = 4;
    request.tenant = tenant;
    ASSERT_TRUE(test::succeeds(host.prepare(container, request)));
    ASSERT_TRUE(test::succeeds(stop(host, container)));
  }
  Status tell(test::HookHost& host) {
    const std::optional<OpenFleet> fleet = open_fleet(host.env).take();
    return tell_usage(host.env, *fleet, host.config.pools, "node", soon());
  }
  // Makes the last time that HOST told something so long ago.
  static void let_pass(test::HookHost& host, int64_t ms) {
    ledger::Told told = host.ledger.usage().told().take().value();
    told.at_ms -= ms;
    ASSERT_TRUE(test::succeeds(host.ledger.usage().tell(told)));
  }
  std::vector<fleet::UsagePart> parts(int64_t day) {
    std::vector<Error> obstacles;
    auto all = fleet::read_usage(fleet(), day, obstacles).take();
    EXPECT_THAT(obstacles, IsEmpty());
    return all;
  }
  int64_t revision() { return store_.list("/f/usage/", soon()).take().revision; }
};

TEST_F(AccountingTest, TellsWhatTenantsHadAndHowLargeThePoolsAre) {
  use(a_, "one", "vision");
  use(b_, "two", "nlp");
  ASSERT_TRUE(test::succeeds(tell(a_)));
  ASSERT_TRUE(test::succeeds(tell(b_)));
  std::vector<fleet::UsagePart> all = parts(today());
  ASSERT_THAT(all, SizeIs(2));
  if (all[0].host != a_.ledger.host().tag()) std::swap(all[0], all[1]);
  EXPECT_EQ(all[0].host, a_.ledger.host().tag());
  EXPECT_EQ(all[0].name, "node");
  ASSERT_THAT(all[0].lines, SizeIs(1));
  EXPECT_EQ(all[0].lines[0].tenant, "vision");
  EXPECT_EQ(all[0].lines[0].pool, "pod16");
  EXPECT_EQ(all[0].lines[0].ended, 1);
  EXPECT_EQ(all[0].pools.at("pod16"), (fleet::UsagePool{16, true}));
  EXPECT_EQ(all[1].lines[0].tenant, "nlp");
}

// Tells until all days are told that a host tells at first.
TEST_F(AccountingTest, TellsOnlyWhatIsDue) {
  use(a_, "zero", "nlp");
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(test::succeeds(tell(a_)));
  use(a_, "one", "vision");
  const int64_t before = revision();
  ASSERT_TRUE(test::succeeds(tell(a_)));
  EXPECT_EQ(parts(today()).at(0).lines.size(), 1U);
  EXPECT_EQ(a_.ledger.usage().told().take()->day, today());
  let_pass(a_, kTellTime.count());
  ASSERT_TRUE(test::succeeds(tell(a_)));
  EXPECT_GT(revision(), before);
  EXPECT_EQ(parts(today()).at(0).lines.size(), 2U);
}

TEST_F(AccountingTest, WhatCouldNotBeToldIsToldTheNextTime) {
  use(a_, "one", "vision");
  for (const test::Call fate : {test::Call::kFails, test::Call::kAnswerIsLost}) {
    calls_ = 0;
    fails_at_ = 0;
    fate_ = fate;
    for (int tries = 0; !tell(a_).ok(); ++tries) {
      ASSERT_LT(tries, 100);
      calls_ = 0;
      ++fails_at_;  // a later call
    }
    fails_at_ = -1;
    EXPECT_EQ(parts(today()).at(0).lines.size(), 1U);
    EXPECT_EQ(parts(today()).size(), 1U) << "its key is overwritten";
    let_pass(a_, 2 * kDayMs);
  }
}

TEST_F(AccountingTest, OnANewDayTellsTheLastOnesAgainAndRemovesOldOnes) {
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(test::succeeds(tell(a_)));
  fleet::UsagePart old{today() - fleet::kFleetUsageDays, "cccccccc", "01234567", "gone", 1};
  ASSERT_TRUE(test::succeeds(fleet::write_usage(fleet(), old)));
  fleet::UsagePart kept = old;
  kept.day += 1;
  ASSERT_TRUE(test::succeeds(fleet::write_usage(fleet(), kept)));
  let_pass(a_, kDayMs);
  ASSERT_TRUE(test::succeeds(tell(a_)));
  EXPECT_THAT(parts(old.day), IsEmpty());
  EXPECT_THAT(parts(kept.day), SizeIs(1));
  EXPECT_THAT(parts(today()), SizeIs(1));
  EXPECT_THAT(parts(today() - 1), IsEmpty()) << "a day without anything is not told";
}

TEST_F(AccountingTest, ANewLedgerOfTheHostAddsToWhatItsOldOneTold) {
  use(a_, "one", "vision");
  ASSERT_TRUE(test::succeeds(tell(a_)));
  ledger::Told told = a_.ledger.usage().told().take().value();
  told.epoch = "ffffffff";  // as a host without a disk has it after each boot
  told.at_ms = 0;
  ASSERT_TRUE(test::succeeds(a_.ledger.usage().tell(told)));
  ASSERT_TRUE(test::succeeds(tell(a_)));
  EXPECT_THAT(parts(today()), SizeIs(2));
}

}  // namespace
}  // namespace hook::lifecycle
