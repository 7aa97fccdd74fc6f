// SPDX-License-Identifier: Apache-2.0
// Partitions that somebody else made, adopted: never reset, never removed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/names.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "hook/lifecycle/repair/claims.h"
#include "hook/lifecycle/repair/compare.h"
#include "hook/lifecycle/repair/survey.h"
#include "tests/support/hook_host.h"

namespace hook::lifecycle::repair {
namespace {

using namespace base::names;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using vipu::Force;

class ForeignTest : public testing::Test {
 protected:
  static base::Deadline soon() { return test::HookHost::soon(); }

  const config::PoolConfig& pool() { return host_.config.pools[0]; }
  // As Graphcore's vipu makes one.
  void make(const vipu::PartitionRequest& request) {
    ASSERT_TRUE(test::succeeds(host_.controller.create(request, soon())));
  }
  Status adopt(const std::string& name) {
    return partitions::adopt_partition(host_.env, pool(), name, soon());
  }
  Status start(const std::string& container, std::optional<uint32_t> gcd = {}) {
    request::Request request;
    request.partition = "p0";
    request.gcd = gcd;
    return host_.prepare(container, request);
  }
  void stop(const std::string& container) {
    ASSERT_TRUE(
        test::succeeds(end::release_by_id(host_.env, host_.lease_of(container).id, soon())));
  }
  base::Result<partitions::RemovedPartition> remove(Force force = Force::kNo) {
    return partitions::remove_partition(host_.env, pool(), "p0", force, soon());
  }
  std::optional<ledger::PartitionRecord> record() {
    return host_.ledger.partitions().find("pod16", "p0").take();
  }

  test::HookHost host_;
};

TEST_F(ForeignTest, GivesEachGcdToOneContainer) {
  make({.id = "p0", .size = 8, .gcds = 2});
  ASSERT_TRUE(test::succeeds(adopt("p0")));
  EXPECT_EQ(record()->kind, ledger::PartitionKind::kForeign);
  EXPECT_EQ(record()->ipus, 8U);
  EXPECT_EQ(record()->gcds, 2U);
  ASSERT_TRUE(test::succeeds(start("a", 0)));
  ASSERT_TRUE(test::succeeds(start("b", 1)));
  EXPECT_EQ(host_.lease_of("b").origin, ledger::Origin::kForeign);
  EXPECT_EQ(host_.lease_of("b").devices.size(), 4U);
  EXPECT_TRUE(test::fails(start("c", 1), Code::kBusy, "is in use by container b"));
}

TEST_F(ForeignTest, IsNeitherResetBetweenContainersNorRemoved) {
  make({.id = "p0", .size = 4});
  ASSERT_TRUE(test::succeeds(adopt("p0")));
  for (const char* name : {"a", "b"}) {
    ASSERT_TRUE(test::succeeds(start(name)));
    stop(name);
  }
  EXPECT_TRUE(
      test::fails(partitions::reset_partition(host_.env, pool(), "p0", vipu::Relocate::kNo, soon()),
                  Code::kDenied, "ipuctl does not reset it"));
  EXPECT_TRUE(test::fails(partitions::check_reset(host_.env, pool(), "p0", soon()), Code::kDenied));
  ASSERT_THAT(end::reconcile(host_.env, soon()).take().obstacles, IsEmpty());
  const auto removed = remove(Force::kYes);
  ASSERT_TRUE(test::succeeds(removed));
  EXPECT_TRUE(removed.value().forgotten);
  EXPECT_FALSE(record().has_value());
  ASSERT_THAT(end::reconcile(host_.env, soon()).take().obstacles, IsEmpty());
  EXPECT_THAT(host_.partitions(), ElementsAre("p0"));
  EXPECT_EQ(host_.controller.resets("p0"), 0U);
}

TEST_F(ForeignTest, IsForgottenWithoutItsControllerAndNeverUnderAContainer) {
  make({.id = "p0", .size = 4});
  ASSERT_TRUE(test::succeeds(adopt("p0")));
  ASSERT_TRUE(test::succeeds(start("web")));
  for (const Force force : {Force::kNo, Force::kYes}) {
    EXPECT_TRUE(test::fails(remove(force), Code::kBusy, "is in use by web"));
    EXPECT_TRUE(
        test::fails(partitions::check_change(host_.env, pool(), "p0", force, soon()), Code::kBusy));
  }
  stop("web");
  host_.controller.set_unreachable(true);
  EXPECT_TRUE(test::succeeds(remove()));
  EXPECT_FALSE(record().has_value());
}

TEST_F(ForeignTest, IsAdoptedOnceAndOnlyWhenItIsThere) {
  EXPECT_TRUE(test::fails(start("web"), Code::kNotFound, "'ipuctl partition adopt'"));
  EXPECT_TRUE(test::fails(adopt("p0"), Code::kNotFound, "has no partition 'p0'"));
  host_.controller.set_unreachable(true);
  EXPECT_TRUE(test::fails(adopt("p0"), Code::kUnavailable));
  host_.controller.set_unreachable(false);
  EXPECT_FALSE(record().has_value());
  make({.id = "p0", .size = 4});
  ASSERT_TRUE(test::succeeds(adopt("p0")));
  EXPECT_TRUE(test::fails(adopt("p0"), Code::kExists, "'p0' already"));
  partitions::NewPartition wanted{pool(), {.id = "p0", .size = 4}};
  EXPECT_TRUE(test::fails(partitions::create_partition(host_.env, wanted, soon()), Code::kExists));
  EXPECT_THAT(host_.partitions(), ElementsAre("p0"));
}

TEST_F(ForeignTest, MustBeActiveToBeAdopted) {
  make({.id = "p0", .size = 4});
  host_.controller.tear("p0", "an IPU failed");
  EXPECT_TRUE(test::fails(adopt("p0"), Code::kBusy, "is ERROR, and can be adopted once"));
  EXPECT_FALSE(record().has_value());
}

TEST_F(ForeignTest, IsNotWhatWeMadeForContainersOurselves) {
  const std::string own = host_.start("web", 4).partition;
  for (const std::string& name : {own, std::string("w-0123456789ab"), std::string("a b")}) {
    EXPECT_TRUE(test::fails(adopt(name), Code::kInvalid, "must not be one that the toolkit gives"));
  }
  EXPECT_THAT(host_.ledger.partitions().all().take(), IsEmpty());
}

TEST_F(ForeignTest, IsOfAPoolWithAController) {
  make({.id = "p0", .size = 4});
  host_.config.pools[0].provider = config::Provider::kPcie;
  EXPECT_TRUE(test::fails(adopt("p0"), Code::kUnsupported, "'pod16' has no V-IPU controller"));
}

TEST_F(ForeignTest, ThatWasMadeAnewIsRefusedUntilItIsAdoptedAgain) {
  make({.id = "p0", .size = 4});
  ASSERT_TRUE(test::succeeds(adopt("p0")));
  (void)host_.controller.remove("p0", Force::kYes, soon());
  EXPECT_TRUE(test::fails(start("web"), Code::kNotFound));
  make({.id = "p0", .size = 8});
  EXPECT_TRUE(
      test::fails(start("web"), Code::kInvalid, "has 8 IPUs, but had 4 when the partition was"));
  EXPECT_EQ(host_.live_leases(), 0U);
  ASSERT_TRUE(test::succeeds(remove()));
  ASSERT_TRUE(test::succeeds(adopt("p0")));
  EXPECT_TRUE(test::succeeds(start("web")));
}

TEST_F(ForeignTest, ThatTheControllerLostIsForgottenByAdvice) {
  make({.id = "p0", .size = 4});
  ASSERT_TRUE(test::succeeds(adopt("p0")));
  EXPECT_THAT(compare_outside(host_.env, host_.config.pools, soon()).take(), IsEmpty());
  (void)host_.controller.remove("p0", Force::kYes, soon());
  const std::vector<ledger::Flaw> flaws =
      compare_outside(host_.env, host_.config.pools, soon()).take();
  ASSERT_THAT(flaws, SizeIs(1));
  EXPECT_THAT(flaws[0].advice, HasSubstr("ipuctl partition remove p0"));
}

// The row of the partition is lost with the ledger; the record of the lease says whose it is.
TEST_F(ForeignTest, StaysForeignWhenTheLedgerIsRebuilt) {
  make({.id = "p0", .size = 4});
  ASSERT_TRUE(test::succeeds(adopt("p0")));
  ASSERT_TRUE(test::succeeds(start("web")));
  Rebuilt rebuilt;
  rebuilt.ended = judge_claims(host_.env, {}, {}).take().ended;
  judge_partitions(survey_pools(host_.env, host_.config.pools, soon()), Unclaimed::kClaim, {},
                   rebuilt);
  ASSERT_THAT(rebuilt.partitions, SizeIs(1));
  EXPECT_EQ(rebuilt.partitions[0].kind, ledger::PartitionKind::kForeign);
  EXPECT_EQ(rebuilt.partitions[0].state, ledger::PartitionState::kReady);
  EXPECT_EQ(rebuilt.partitions[0].ipus, 4U);
}

TEST_F(ForeignTest, IsWhatNothingSaysWhoMadeIt) {
  make({.id = "p0", .size = 4});
  ASSERT_TRUE(test::succeeds(adopt("p0")));
  ASSERT_TRUE(test::succeeds(start("web")));
  ledger::Salvaged salvaged;
  salvaged.leases = {host_.lease_of("web")};
  salvaged.leases[0].origin =
      ledger::Origin::kJoined;  // and of the one that it joined nothing is left
  salvaged.leases[0].state = ledger::LeaseState::kRunning;
  salvaged.leases[0].owner = base::current_process().take();
  const Claims claims = judge_claims(host_.env, std::move(salvaged), {}).take();
  ASSERT_THAT(claims.running, SizeIs(1));
  EXPECT_EQ(claims.running[0].origin, ledger::Origin::kForeign);
}

}  // namespace
}  // namespace hook::lifecycle::repair
