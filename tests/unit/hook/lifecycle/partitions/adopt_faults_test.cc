// SPDX-License-Identifier: Apache-2.0
// `ipuctl partition adopt` in a fleet: what is left if it dies between its writes to the store and
// to the ledger, or a call to the store fails, and who mends it.
#include <gmock/gmock.h>

#include <utility>

#include "base/names.h"
#include "base/text.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "tests/support/fleet_hosts.h"

namespace hook::lifecycle::partitions {
namespace {

using namespace base::names;
using test::Call;
using testing::IsEmpty;

// More than an adoption, or its end, makes.
constexpr int kMostCalls = 24;

class AdoptFaultsTest : public test::FleetHosts {
 protected:
  void SetUp() override {
    test::FleetHosts::SetUp();
    ASSERT_TRUE(a_.controller.create({"p0", 8}, soon()).ok());
  }
  static Status adopt(test::HookHost& host) {
    return adopt_partition(host.env, host.config.pools[0], "p0", soon());
  }
  static Result<RemovedPartition> remove(test::HookHost& host) {
    return remove_partition(host.env, host.config.pools[0], "p0", vipu::Force::kNo, soon());
  }
  static std::optional<ledger::PartitionRecord> row(test::HookHost& host) {
    return host.ledger.partitions().find("pod16", "p0").take();
  }
  std::optional<fleet::PartitionView> view() {
    return fleet::find_partition(fleet(), {"pod16", "p0"}).take();
  }

  // Does ACT with this FATE of call number AT. Returns whether it made that call.
  template <typename Act>
  bool cut(int at, Call fate, const Act& act) {
    calls_ = 0;
    fails_at_ = at;
    fate_ = fate;
    try {
      act();
    } catch (const test::Died&) {
    }
    fails_at_ = -1;
    return calls_ > at;
  }

  // Calls CHECK after each cut of ACT, which begins anew each time.
  template <typename Act, typename Check>
  void cut_each(const Act& act, const Check& check) {
    for (const Call fate :
         {Call::kFails, Call::kAnswerIsLost, Call::kDiesBefore, Call::kDiesAfter}) {
      int cuts = 0;
      for (int at = 0; at < kMostCalls; ++at) {
        SCOPED_TRACE(str("fate ", static_cast<int>(fate), " of call ", at));
        if (!cut(at, fate, act)) break;
        ++cuts;
        check();
      }
      EXPECT_GE(cuts, 4);
      EXPECT_LT(cuts, kMostCalls);
    }
  }

  // All hosts can use it, nobody changes it, and all forget it together.
  void expect_adopted() {
    const auto seen = view();
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->phase, fleet::PartitionPhase::kReady);
    EXPECT_TRUE(seen->facts.adopted);
    const auto recorded = row(a_);
    ASSERT_TRUE(recorded);
    EXPECT_EQ(recorded->kind, ledger::PartitionKind::kForeign);
    EXPECT_EQ(recorded->state, ledger::PartitionState::kReady);
    for (test::HookHost* host : {&b_, &a_}) {
      request::Request request;
      request.partition = "p0";
      request.gcd = 0;
      ASSERT_TRUE(test::succeeds(host->prepare("job", request)));
      ASSERT_TRUE(test::succeeds(stop(*host, "job")));
    }
  }
  // Nothing but the partition itself is left, which is its maker's.
  void expect_forgotten() {
    EXPECT_FALSE(view());
    EXPECT_FALSE(row(a_));
    EXPECT_EQ(a_.partitions(), std::vector<std::string>{"p0"});
    EXPECT_EQ(a_.controller.resets("p0"), 0U);
  }
};

TEST_F(AdoptFaultsTest, ASecondOneEndsIt) {
  cut_each([&] { (void)adopt(a_); },
           [&] {
             const Status again = adopt(a_);
             if (!again.ok()) {
               EXPECT_TRUE(test::fails(again, Code::kExists, "adopted already"));
             }
             expect_adopted();
             EXPECT_TRUE(test::fails(adopt(a_), Code::kExists, "adopted already"));
             EXPECT_TRUE(remove(a_).take().forgotten);
             expect_forgotten();
           });
}

// The ledger has it: gc tells the fleet. The ledger does not: nobody uses it, and its name is this
// host's to remove.
TEST_F(AdoptFaultsTest, GcOrARemovalEndsIt) {
  cut_each([&] { (void)adopt(a_); },
           [&] {
             EXPECT_THAT(gc(a_), IsEmpty());
             if (row(a_)) {
               expect_adopted();
             } else if (view()) {
               EXPECT_EQ(view()->phase, fleet::PartitionPhase::kMaking);
               EXPECT_TRUE(test::fails(adopt(b_), Code::kBusy, "ipuctl partition remove p0"));
             }
             if (row(a_) || view()) {
               EXPECT_TRUE(remove(a_).take().forgotten);
             }
             expect_forgotten();
             ASSERT_TRUE(test::succeeds(adopt(b_)));
             EXPECT_TRUE(remove(b_).take().forgotten);
           });
}

TEST_F(AdoptFaultsTest, ARemovalThatWasCutIsEndedByTheNext) {
  cut_each(
      [&] {
        const int at = std::exchange(fails_at_, -1);
        (void)adopt(a_);  // unless the last removal did nothing
        calls_ = 0;
        fails_at_ = at;
        (void)remove(a_);
      },
      [&] {
        // Without its row, only the fleet's record tells of the removal.
        EXPECT_THAT(gc(a_), SizeIs(view() && !row(a_) ? 1 : 0));
        if (row(a_) || view()) {
          EXPECT_TRUE(remove(a_).take().forgotten);
        }
        expect_forgotten();
      });
}

}  // namespace
}  // namespace hook::lifecycle::partitions
