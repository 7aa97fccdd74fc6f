// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hook/ledger/rebuilder.h"
#include "tests/support/sql.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using base::Code;
using testing::IsEmpty;
using vipu::IpuHealth;
using vipu::Taint;

class HealthTest : public LedgerFixture {
 protected:
  std::vector<IpuHealth> see(bool is_good, const std::string& ipu = "10.5.1.1:3") {
    now_ += 60'000;
    return ledger_.health().observe("slices", {{ipu, is_good, is_good ? "" : "hot"}}, {}).take();
  }
  std::vector<PoolIpu> all() { return ledger_.health().all().take(); }
  // Rebuilds the ledger, which is closed, and opens it again.
  Taints rebuild() {
    Taints taints = Taints::kKept;
    {
      Rebuilder rebuilder = Rebuilder::enter(path_).take();
      EXPECT_TRUE(test::succeeds(rebuilder.salvage()));
      EXPECT_TRUE(test::succeeds(rebuilder.open_new({})));
      taints = rebuilder.begin_history("rebuilt").take();
      EXPECT_TRUE(test::succeeds(rebuilder.put_in_place()));
    }
    ledger_ = Ledger::open(path_).take();
    return taints;
  }
  std::string last_event() {
    const int64_t last = ledger_.events().last().take();
    const std::vector<Event> events = ledger_.events().after(last - 1, 1).take();
    return events.empty() ? "" : events.front().text;
  }
};

TEST_F(HealthTest, ATaintChangesWithItsEventAndOnlyThen) {
  EXPECT_THAT(see(true), IsEmpty());
  EXPECT_THAT(all(), IsEmpty()) << "nothing bad is known";
  EXPECT_THAT(see(false), IsEmpty());
  EXPECT_THAT(see(false), IsEmpty());
  EXPECT_EQ(last_event(), "");
  const std::vector<IpuHealth> changed = see(false);
  ASSERT_EQ(changed.size(), 1U);
  EXPECT_EQ(changed[0], (IpuHealth{"10.5.1.1:3", Taint::kCheck, "hot", "bbb", now_, now_}));
  EXPECT_EQ(last_event(), "IPU 10.5.1.1:3 is tainted, because health checks saw it bad: hot");
  ASSERT_EQ(all().size(), 1U);
  EXPECT_EQ(all()[0].pool, "slices");
  EXPECT_EQ(all()[0].health, changed[0]);
  EXPECT_THAT(see(false), IsEmpty());
}

TEST_F(HealthTest, WhatIsGoodAgainIsForgotten) {
  for (int i = 0; i < 3; ++i) see(false);
  for (int i = 0; i < 59; ++i) EXPECT_THAT(see(true), IsEmpty());
  const std::vector<IpuHealth> changed = see(true);
  ASSERT_EQ(changed.size(), 1U);
  EXPECT_EQ(changed[0].taint, Taint::kNone);
  EXPECT_EQ(last_event(), "IPU 10.5.1.1:3 is no longer tainted");
  EXPECT_THAT(all(), IsEmpty());
}

TEST_F(HealthTest, AnOperatorsTaintStaysUntilItIsCleared) {
  ASSERT_TRUE(test::succeeds(ledger_.health().taint("slices", "10.5.1.1:3", "fan")));
  EXPECT_EQ(last_event(), "IPU 10.5.1.1:3 is tainted by an operator: fan");
  for (int i = 0; i < 100; ++i) EXPECT_THAT(see(true), IsEmpty());
  ASSERT_EQ(all().size(), 1U);
  EXPECT_EQ(all()[0].health.taint, Taint::kOperator);
  ASSERT_TRUE(test::succeeds(ledger_.health().clear("slices", "10.5.1.1:3")));
  EXPECT_THAT(all(), IsEmpty());
  EXPECT_EQ(last_event(), "IPU 10.5.1.1:3 is no longer tainted");
  EXPECT_TRUE(test::fails(ledger_.health().clear("slices", "10.5.1.1:3"), Code::kNotFound,
                          "has no recorded taint"));
}

TEST_F(HealthTest, AnEventOfALeaseDoesNotChangeIt) {
  const Lease lease = allocate("web");
  ASSERT_TRUE(test::succeeds(ledger_.events().record(lease, "its IPU is tainted")));
  EXPECT_EQ(ledger_.find(lease.id).take()->generation, lease.generation);
  const std::vector<Event> events = ledger_.events().of_lease(lease.id).take();
  EXPECT_EQ(events.back().text, "its IPU is tainted");
  EXPECT_EQ(events.back().container, "web");
}

TEST_F(HealthTest, ARebuildKeepsTaints) {
  ASSERT_TRUE(test::succeeds(ledger_.health().taint("slices", "10.5.1.1:3", "parity errors")));
  const std::vector<PoolIpu> before = all();
  { const Ledger closed = std::move(ledger_); }
  EXPECT_EQ(rebuild(), Taints::kKept);
  ASSERT_EQ(all().size(), 1U);
  EXPECT_EQ(all()[0].pool, before[0].pool);
  EXPECT_EQ(all()[0].health, before[0].health);
}

TEST_F(HealthTest, TheHistoryKnowsTheTaintsThatARebuildLost) {
  for (const char* ipu : {"10.5.1.1:3", "10.5.1.1:2", "10.5.1.2:0"})
    ASSERT_TRUE(test::succeeds(ledger_.health().taint("slices", ipu, "parity errors")));
  ASSERT_TRUE(test::succeeds(ledger_.health().clear("slices", "10.5.1.1:2")));
  { const Ledger closed = std::move(ledger_); }
  ASSERT_TRUE(test::succeeds(test::zero_root(path_, "ipu_health")));
  EXPECT_EQ(rebuild(), Taints::kLost);
  EXPECT_THAT(all(), IsEmpty());
  const std::vector<PoolIpu> known = ledger_.health().tainted_by_history().take();
  ASSERT_EQ(known.size(), 2U);
  EXPECT_EQ(known[0].health.ipu, "10.5.1.1:3");
  EXPECT_EQ(known[1].health.ipu, "10.5.1.2:0");
  EXPECT_EQ(known[1].pool, "slices");
}

}  // namespace
}  // namespace hook::ledger
