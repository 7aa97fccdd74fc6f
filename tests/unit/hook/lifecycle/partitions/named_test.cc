// SPDX-License-Identifier: Apache-2.0
// Partitions that were made ahead, and the containers that use them.
#include "tests/unit/hook/lifecycle/partitions/named_fixture.h"

namespace hook::lifecycle::partitions {
namespace {

class NamedTest : public NamedFixture {};

TEST_F(NamedTest, OutlivesTheContainersThatUseIt) {
  make(wanted("p0", 4));
  ASSERT_TRUE(test::succeeds(start("web", "p0")));
  const ledger::Lease lease = host_.lease_of("web");
  EXPECT_EQ(lease.partition, "p0");
  EXPECT_EQ(lease.ipus, 4U);
  EXPECT_EQ(lease.devices.size(), 4U);
  EXPECT_EQ(lease.origin, ledger::Origin::kNamed);
  stop("web");
  EXPECT_THAT(host_.partitions(), ElementsAre("p0"));
  EXPECT_EQ(host_.live_leases(), 0U);
}

TEST_F(NamedTest, IsRefusedWhileAnotherContainerHasIt) {
  make(wanted("p0", 4));
  ASSERT_TRUE(test::succeeds(start("web", "p0")));
  EXPECT_TRUE(test::fails(start("db", "p0"), Code::kBusy,
                          "GCD 0 of partition 'p0' is in use by container web"));
  stop("web");
  EXPECT_TRUE(test::succeeds(start("db", "p0")));
}

TEST_F(NamedTest, GivesEachGcdToOneContainer) {
  make(wanted("p0", 8, 2));
  ASSERT_TRUE(test::succeeds(start("a", "p0", 0)));
  ASSERT_TRUE(test::succeeds(start("b", "p0", 1)));
  const ledger::Lease a = host_.lease_of("a");
  const ledger::Lease b = host_.lease_of("b");
  EXPECT_EQ(a.ipus, 4U);
  EXPECT_EQ(b.gcd, 1U);
  for (const ledger::LeasedIpu& ipu : a.devices) {
    EXPECT_EQ(std::count(b.devices.begin(), b.devices.end(), ipu), 0);
  }
  EXPECT_TRUE(test::fails(start("c", "p0", 1), Code::kBusy, "GCD 1 of partition 'p0' is in use"));
  const std::string lease_json =
      base::read_file(host_.dir / ("run/leases/" + b.id + "/ipu/lease.json"), 65536).take();
  EXPECT_EQ(base::parse_json(lease_json, "lease.json").take()["gcd"], 1);
  const std::string ipuof =
      base::read_file(host_.dir / ("run/leases/" + b.id + "/ipuof.conf.d/ipuof.conf"), 65536)
          .take();
  EXPECT_EQ(base::parse_json(ipuof, "ipuof.conf").take()["attributes"]["GCD Id"], "1");
}

TEST_F(NamedTest, SaysWhichGcdsThereAre) {
  make(wanted("p0", 8, 2));
  EXPECT_TRUE(test::fails(start("a", "p0"), Code::kInvalid, "has 2 GCDs; select one"));
  EXPECT_TRUE(test::fails(start("a", "p0", 2), Code::kInvalid, "has no GCD 2: it has 2"));
  EXPECT_TRUE(test::fails(start("a", "other"), Code::kNotFound, "no partition 'other'"));
  EXPECT_EQ(host_.live_leases(), 0U);
}

TEST_F(NamedTest, IsNotForAContainerThatMayNotHaveSoMuch) {
  make(wanted("p0", 8));
  host_.config.policy.max_ipus = 4;
  EXPECT_TRUE(test::fails(start("web", "p0"), Code::kDenied, "policy.max_ipus allows only 4"));
  EXPECT_EQ(host_.live_leases(), 0U);
  EXPECT_THAT(host_.partitions(), ElementsAre("p0"));
}

TEST_F(NamedTest, CanBeSharedByWishOnly) {
  NewPartition shared = wanted("p0", 4);
  shared.shared = true;
  make(shared);
  ASSERT_TRUE(test::succeeds(start("a", "p0")));
  ASSERT_TRUE(test::succeeds(start("b", "p0")));
  EXPECT_EQ(host_.lease_of("a").devices, host_.lease_of("b").devices);
  EXPECT_NE(host_.lease_of("a").rails[0].address, host_.lease_of("b").rails[0].address);
}

TEST_F(NamedTest, IsResetBetweenContainers) {
  make(wanted("p0", 4));
  ASSERT_TRUE(test::succeeds(start("a", "p0")));
  EXPECT_EQ(host_.controller.resets("p0"), 0U) << "it is new";
  stop("a");
  ASSERT_TRUE(test::succeeds(start("b", "p0")));
  EXPECT_EQ(host_.controller.resets("p0"), 1U);
}

TEST_F(NamedTest, IsNotResetIfItIsReconfigurable) {
  NewPartition reconfigurable = wanted("p0", 4);
  reconfigurable.request.reconfigurable = true;
  make(reconfigurable);
  for (const char* name : {"a", "b"}) {
    ASSERT_TRUE(test::succeeds(start(name, "p0")));
    stop(name);
  }
  EXPECT_EQ(host_.controller.resets("p0"), 0U);
}

TEST_F(NamedTest, IsNotResetUnderAContainerOfAnotherGcd) {
  make(wanted("p0", 8, 2));
  ASSERT_TRUE(test::succeeds(start("a", "p0", 0)));
  ASSERT_TRUE(test::succeeds(start("b", "p0", 1)));
  stop("b");
  ASSERT_TRUE(test::succeeds(start("c", "p0", 1)));
  EXPECT_EQ(host_.controller.resets("p0"), 0U);
}

TEST_F(NamedTest, IsResetByTheNextContainerIfThatFailed) {
  make(wanted("p0", 4));
  ASSERT_TRUE(test::succeeds(start("a", "p0")));
  stop("a");
  host_.controller.fail_next(base::Error(Code::kTimeout, "no answer"));
  EXPECT_TRUE(test::fails(start("b", "p0"), Code::kTimeout, "no answer"));
  EXPECT_EQ(host_.live_leases(), 0U);
  ASSERT_TRUE(test::succeeds(start("c", "p0")));
  EXPECT_EQ(host_.controller.resets("p0"), 1U);
}

TEST_F(NamedTest, IsNotRemovedWhileItIsInUse) {
  make(wanted("p0", 4));
  ASSERT_TRUE(test::succeeds(start("web", "p0")));
  EXPECT_TRUE(test::fails(remove("p0"), Code::kBusy, "is in use by web; stop them first"));
  EXPECT_TRUE(test::fails(reset("p0"), Code::kBusy, "is in use by web"));
  stop("web");
  EXPECT_TRUE(test::succeeds(reset("p0")));
  ASSERT_TRUE(test::succeeds(remove("p0")));
  EXPECT_THAT(host_.partitions(), IsEmpty());
  EXPECT_FALSE(record("p0").has_value());
  EXPECT_TRUE(test::fails(remove("p0"), Code::kNotFound, "p0"));
}

TEST_F(NamedTest, TellsWhomAChangeWouldHurtWithoutMakingIt) {
  make(wanted("p0", 4));
  const config::PoolConfig& pool = host_.config.pools[0];
  EXPECT_THAT(check_change(host_.env, pool, "p0", Force::kNo, soon()).take(), IsEmpty());
  ASSERT_TRUE(test::succeeds(start("web", "p0")));
  EXPECT_TRUE(test::fails(check_change(host_.env, pool, "p0", Force::kNo, soon()), Code::kBusy,
                          "is in use by web"));
  EXPECT_THAT(check_change(host_.env, pool, "p0", Force::kYes, soon()).take(), ElementsAre("web"));
  EXPECT_THAT(host_.partitions(), ElementsAre("p0"));
  EXPECT_EQ(record("p0")->state, ledger::PartitionState::kReady);
}

TEST_F(NamedTest, IsRemovedFromAContainerByForceWhichIsTold) {
  make(wanted("p0", 4));
  ASSERT_TRUE(test::succeeds(start("web", "p0")));
  const auto removed = remove("p0", Force::kYes);
  ASSERT_TRUE(test::succeeds(removed));
  EXPECT_THAT(removed.value().containers, ElementsAre("web"));
  EXPECT_THAT(host_.partitions(), IsEmpty());
  stop("web");
  EXPECT_EQ(host_.live_leases(), 0U);
}

TEST_F(NamedTest, ThatFailedIsRemovedByForceOnly) {
  make(wanted("p0", 4));
  host_.controller.tear("p0", "an IPU failed");
  EXPECT_TRUE(test::fails(remove("p0"), Code::kBusy, "; --force removes it"));
  EXPECT_EQ(record("p0")->state, ledger::PartitionState::kReady);
  ASSERT_THAT(end::reconcile(host_.env, soon()).take().obstacles, IsEmpty());
  EXPECT_THAT(host_.partitions(), ElementsAre("p0"));
  ASSERT_TRUE(test::succeeds(remove("p0", Force::kYes)));
  EXPECT_FALSE(record("p0").has_value());
}

TEST_F(NamedTest, OfOthersIsNotTouched) {
  ASSERT_TRUE(host_.controller.create({"theirs", 4}, soon()).ok());
  EXPECT_TRUE(
      test::fails(remove("theirs", Force::kYes), Code::kDenied, "was not created by ipuctl"));
  EXPECT_TRUE(test::fails(reset("theirs"), Code::kDenied, "was not created by ipuctl"));
  EXPECT_TRUE(test::fails(start("web", "theirs"), Code::kNotFound, "in this host's ledger"));
  EXPECT_EQ(host_.controller.resets("theirs"), 0U);
  EXPECT_THAT(host_.partitions(), ElementsAre("theirs"));
}

TEST_F(NamedTest, OfAContainerGoesWithThatOnly) {
  const std::string own = host_.start("web", 4).partition;
  EXPECT_TRUE(test::fails(remove(own, Force::kYes), Code::kBusy,
                          "was created for container web and is in use"));
  EXPECT_THAT(host_.partitions(), ElementsAre(own));
}

TEST_F(NamedTest, HasANameThatGraphcoresToolsBearAndThatIsNotOurs) {
  for (const std::string& name :
       {std::string(), std::string("c-0123456789ab"), std::string("w-0123456789ab"),
        std::string("a b"), std::string("a/b"), std::string(37, 'x')}) {
    EXPECT_TRUE(test::fails(create_partition(host_.env, wanted(name, 4), soon()), Code::kInvalid,
                            "is not a valid name for a partition"))
        << name;
  }
  make(wanted(std::string(36, 'x'), 4));
}

TEST_F(NamedTest, IsMadeOnce) {
  make(wanted("p0", 4));
  EXPECT_TRUE(test::fails(create_partition(host_.env, wanted("p0", 4), soon()), Code::kExists,
                          "partition 'p0' already exists"));
  EXPECT_EQ(record("p0")->state, ledger::PartitionState::kReady);
}

TEST_F(NamedTest, LeavesNothingWhenItCannotBeMade) {
  EXPECT_TRUE(test::fails(create_partition(host_.env, wanted("p0", 32), soon()), Code::kInvalid));
  EXPECT_FALSE(record("p0").has_value());
  host_.controller.fail_next(base::Error(Code::kTimeout, "no answer"),
                             test::FakeController::When::kAfter);
}

TEST_F(NamedTest, LeavesThePartitionOfItsNameThatOthersMade) {
  ASSERT_TRUE(host_.controller.create({"p0", 4}, soon()).ok());
  EXPECT_TRUE(test::fails(create_partition(host_.env, wanted("p0", 4), soon()), Code::kExists));
  EXPECT_FALSE(record("p0").has_value());
  EXPECT_THAT(host_.partitions(), ElementsAre("p0"));
}

TEST_F(NamedTest, CanBeUsedByNobodyBeforeItIsConfirmed) {
  NewPartition unsure = wanted("p0", 4);
  unsure.confirm = [&]() -> Status {
    EXPECT_THAT(host_.partitions(), ElementsAre("p0"));
    EXPECT_TRUE(test::fails(start("web", "p0"), Code::kNotFound));
    return Error(Code::kBusy, "its IPUs are another's");
  };
  EXPECT_TRUE(test::fails(create_partition(host_.env, unsure, soon()), Code::kBusy, "another's"));
  EXPECT_FALSE(record("p0").has_value());
  EXPECT_THAT(host_.partitions(), IsEmpty());
}

TEST_F(NamedTest, ThatALiveProcessMakesIsLeftAlone) {
  ledger::PartitionRecord half;
  half.pool = "pod16";
  half.name = "p0";
  half.source = config::source_of(host_.config.pools[0]);
  half.owner = base::identify_process(1).take();
  half.boot_id = base::boot_id().take();
  ASSERT_TRUE(test::succeeds(host_.ledger.partitions().intend(half)));
  ASSERT_THAT(end::reconcile(host_.env, soon()).take().obstacles, IsEmpty());
  EXPECT_TRUE(record("p0").has_value());
  EXPECT_TRUE(test::fails(remove("p0"), Code::kBusy, "is being created by process 1"));
  EXPECT_TRUE(test::fails(start("web", "p0"), Code::kNotFound, "in this host's ledger"));
}

TEST_F(NamedTest, IsRemovedAlsoWhenTheControllerLostIt) {
  make(wanted("p0", 4));
  (void)host_.controller.remove("p0", Force::kYes, soon());
  EXPECT_TRUE(test::fails(start("web", "p0"), Code::kNotFound));
  EXPECT_EQ(remove("p0").take().removed, base::Removed::kWasAbsent);
  EXPECT_FALSE(record("p0").has_value());
}

}  // namespace
}  // namespace hook::lifecycle::partitions
