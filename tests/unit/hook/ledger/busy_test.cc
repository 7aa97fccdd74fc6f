// SPDX-License-Identifier: Apache-2.0
// How busy IPUs were, as samples of a monitor say.
#include "hook/ledger/busy.h"

#include <gmock/gmock.h>

#include "hook/ledger/usage.h"
#include "tests/support/sql.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using std::chrono::milliseconds;
using testing::SizeIs;

constexpr milliseconds kLongest{120'000};
constexpr int64_t kMinute = 60'000;

class BusyTest : public LedgerFixture {
 protected:
  Lease run(const std::string& container, const std::string& tenant, uint32_t ipus) {
    Intent what = intent(container);
    what.tenant = tenant;
    what.rails.clear();
    what.ipus = ipus;
    Lease lease = ledger_.acquire(what).take();
    std::vector<LeasedIpu> devices;
    for (uint32_t i = 0; i < ipus; ++i) devices.push_back(next_ipu());
    EXPECT_TRUE(test::succeeds(ledger_.mark_allocated(lease, std::move(devices), {}, {})));
    return lease;
  }
  void sample(const std::vector<BusySample>& samples) {
    EXPECT_TRUE(test::succeeds(ledger_.usage().busy().record(samples, kLongest)));
  }
  UsageRow on(int64_t day_ms) {
    const int64_t day = day_ms / kDayMs;
    std::vector<UsageRow> rows = ledger_.usage().between(day, day + 1).take();
    EXPECT_LE(rows.size(), 1U);
    return rows.empty() ? UsageRow() : rows.front();
  }
  // Each of an IPU-Machine of its own.
  LeasedIpu next_ipu() {
    const std::string machine =
        "10.1." + std::to_string(machines_ / 200) + "." + std::to_string(1 + machines_ % 200);
    ++machines_;
    return ipu(machine.c_str(), 0);
  }
  int machines_ = 0;
};

TEST_F(BusyTest, ASampleCountsForTheTimeSinceTheOneBefore) {
  const Lease lease = run("web", "a", 4);
  sample({{lease.id, 4, 2}});
  EXPECT_EQ(on(now_).measured, 0) << "the first one ends no interval";
  now_ += kMinute;
  sample({{lease.id, 4, 1.5}});
  EXPECT_EQ(on(now_).measured, 4 * kMinute);
  EXPECT_EQ(on(now_).busy, 90'000);
  EXPECT_EQ(on(now_).tenant, "a");
  EXPECT_EQ(on(now_).pool, "pod64");
  now_ += kMinute;
  sample({{lease.id, 2, 0}});
  EXPECT_EQ(on(now_).measured, 6 * kMinute) << "two of its IPUs were not named";
  EXPECT_EQ(on(now_).busy, 90'000);
  release(lease);
  EXPECT_EQ(on(now_).measured, 6 * kMinute);
  EXPECT_EQ(on(now_).held, 8 * kMinute);
}

TEST_F(BusyTest, ATimeWithoutSamplesIsNotMeasured) {
  const Lease lease = run("web", "a", 1);
  sample({});
  now_ += 10 * kMinute;
  sample({{lease.id, 1, 1}});
  EXPECT_EQ(on(now_).measured, kLongest.count());
  now_ += kMinute;
  EXPECT_TRUE(ledger_.usage().busy().fail().take());
  EXPECT_EQ(ledger_.usage().busy().state().take(), (BusyState{now_, now_}));
  now_ += kMinute;
  EXPECT_FALSE(ledger_.usage().busy().fail().take()) << "it fails still";
  EXPECT_EQ(ledger_.usage().busy().state().take(), (BusyState{now_, now_ - kMinute}));
  now_ += kMinute;
  sample({{lease.id, 1, 1}});
  EXPECT_EQ(on(now_).measured, kLongest.count() + kMinute);
  EXPECT_EQ(ledger_.usage().busy().state().take(), (BusyState{now_, 0}));
}

TEST_F(BusyTest, CountsALeaseFromItsIpusOnAndNoneThatHasEnded) {
  sample({});
  const Lease old = run("old", "a", 1);
  now_ += kMinute - 5000;
  release(old);
  const Lease lease = run("new", "a", 1);
  now_ += 5000;
  sample({{lease.id, 1, 1}, {old.id, 1, 1}, {"no such lease", 1, 1}});
  EXPECT_EQ(on(now_).measured, 5000);
  EXPECT_EQ(on(now_).busy, 5000);
}

TEST_F(BusyTest, AClockThatIsSetBackCountsNothing) {
  const Lease lease = run("web", "a", 1);
  sample({});
  now_ -= 10 * kMinute;
  sample({{lease.id, 1, 1}});
  EXPECT_EQ(on(now_).measured, 0);
}

TEST_F(BusyTest, AClockThatIsYearsAheadForgetsNothing) {
  const Lease lease = run("web", "a", 1);
  sample({});
  now_ += kMinute;
  sample({{lease.id, 1, 1}});
  const int64_t right = now_;
  now_ += 3 * kUsageDays * kDayMs;
  sample({{lease.id, 1, 1}});
  now_ += kMinute;
  sample({{lease.id, 1, 1}});
  EXPECT_EQ(on(right).measured, kMinute);
}

TEST_F(BusyTest, WithoutLeasesAFailureStaysKnown) {
  EXPECT_TRUE(ledger_.usage().busy().fail().take());
  now_ += kMinute;
  ASSERT_TRUE(test::succeeds(ledger_.usage().busy().skip()));
  EXPECT_EQ(ledger_.usage().busy().state().take(), (BusyState{now_, now_ - kMinute}));
  EXPECT_FALSE(ledger_.usage().busy().fail().take());
}

TEST_F(BusyTest, IsDividedIntoDays) {
  const int64_t midnight = (now_ / kDayMs + 1) * kDayMs;
  now_ = midnight - 20'000;
  const Lease lease = run("web", "a", 2);
  sample({});
  now_ += kMinute;
  sample({{lease.id, 2, 1}});
  EXPECT_EQ(on(midnight - 1).measured, 40'000);
  EXPECT_EQ(on(midnight - 1).busy, 20'000);
  EXPECT_EQ(on(midnight).measured, 80'000);
  EXPECT_EQ(on(midnight).busy, 40'000);
}

// Those of one day have a row each, and what is further counts for no tenant.
TEST_F(BusyTest, HasSoManyRowsADay) {
  sample({});
  std::vector<BusySample> samples;
  for (int i = 0; i < 300; ++i)
    samples.push_back({run("web", "tenant-" + std::to_string(i), 1).id, 1, 1});
  now_ += kMinute;
  sample(samples);
  EXPECT_THAT(test::query_sql(path_, "SELECT tenant FROM usage"), SizeIs(257));
  int64_t measured = 0;
  for (const UsageRow& row : ledger_.usage().between(0, INT64_MAX).take()) measured += row.measured;
  EXPECT_EQ(measured, 300 * kMinute);
}

TEST_F(BusyTest, AStateThatCannotBeReadIsBegunAnew) {
  const Lease lease = run("web", "a", 1);
  for (const char* value : {"", "x y", "1", "1 2 3", "-1 0", "99999999999999999999 0"}) {
    ASSERT_TRUE(test::succeeds(test::run_sql(
        path_, std::string("INSERT OR REPLACE INTO meta VALUES('monitor', '") + value + "')")));
    now_ += kMinute;
    sample({{lease.id, 1, 1}});
  }
  EXPECT_EQ(on(now_).measured, 0);
}

}  // namespace
}  // namespace hook::ledger
