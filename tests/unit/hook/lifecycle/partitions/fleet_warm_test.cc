// SPDX-License-Identifier: Apache-2.0
// Who may take and remove what two hosts of a fleet keep warm for each other.
#include "hook/lifecycle/partitions/fleet_warm.h"
#include "hook/lifecycle/partitions/joining.h"

#include "base/names.h"
#include "base/text.h"
#include "hook/fleet/hosts.h"
#include "hook/lifecycle/fleet_place.h"
#include "hook/lifecycle/partitions/fleet_claims.h"
#include "hook/lifecycle/partitions/fleet_compare.h"
#include "tests/support/warm_fleet.h"
#include "vipu/made_name.h"

namespace hook::lifecycle::partitions {
namespace {

using namespace base::names;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

using FleetWarmTest = test::WarmFleet;

TEST_F(FleetWarmTest, WhatOneHostMadeIsTakenByAnother) {
  const std::vector<std::string> made = fill(a_).made;
  EXPECT_THAT(made, AllOf(SizeIs(2), Each(StartsWith("f-"))));
  EXPECT_THAT(a_.ledger.partitions().all().take(), IsEmpty());
  bool created = false;
  a_.before_create = [&] { created = true; };
  const ledger::Lease lease = b_.start("web", 4);
  EXPECT_FALSE(created);
  EXPECT_EQ(lease.partition, made[0]) << "the oldest";
  EXPECT_EQ(lease.origin, ledger::Origin::kOwn);
  EXPECT_THAT(warm_names(), ElementsAre(made[1]));
  ASSERT_THAT(grants(), SizeIs(1));
  EXPECT_EQ(grants()[0].partition, made[0]);
  EXPECT_EQ(grants()[0].host, tag(b_));
  EXPECT_THAT(b_.refills, ElementsAre("pod16"));
  EXPECT_THAT(fill(b_).made, SizeIs(1));
  ASSERT_TRUE(test::succeeds(stop(b_, "web")));
  EXPECT_THAT(a_.partitions(), Not(Contains(made[0])));
  expect_whole();
}

TEST_F(FleetWarmTest, TheTargetIsThatOfAllHosts) {
  EXPECT_THAT(fill(a_).made, SizeIs(2));
  EXPECT_THAT(fill(b_).made, IsEmpty());
  EXPECT_THAT(fill(b_).removed, IsEmpty());
  b_.config.pools[0].warm = {};
  EXPECT_THAT(fill(b_).removed, IsEmpty()) << "what another host made is not this host's surplus";
  EXPECT_THAT(warm(), SizeIs(2));
  keep({{4, 1}});
  EXPECT_THAT(fill(a_).removed, SizeIs(1));
  EXPECT_THAT(warm(), SizeIs(1));
}

TEST_F(FleetWarmTest, EachKindIsCountedAlone) {
  keep({{4, 1}});
  b_.config.pools[0].allocation = "wall";
  EXPECT_THAT(fill(a_).made, SizeIs(1));
  EXPECT_THAT(fill(b_).made, SizeIs(1));
  for (test::HookHost* const host : {&a_, &b_}) {
    const partitions::Refilled again = fill(*host);
    EXPECT_THAT(again.removed, IsEmpty()) << "the other host's are none of its own";
    EXPECT_THAT(again.made, IsEmpty());
  }
  b_.config.pools[0].allocation = "other";
  EXPECT_THAT(fill(b_).removed, SizeIs(1)) << "nobody asks for that kind any more";
  EXPECT_THAT(warm(), SizeIs(2));
}

TEST_F(FleetWarmTest, OfAnotherAllocationOrControllerIsNotTaken) {
  fill(a_);
  b_.config.pools[0].allocation = "wall";
  EXPECT_THAT(b_.start("other", 4).partition, StartsWith("c-"));
  b_.config.pools[0].allocation.clear();
  b_.config.pools[0].controller = "10.5.1.253:8090";
  EXPECT_THAT(b_.start("third", 4).partition, StartsWith("c-"));
  EXPECT_THAT(warm(), SizeIs(2));
}

TEST_F(FleetWarmTest, IsGivenBackByTheHostThatNeedsItsIpus) {
  keep({{8, 2}});
  fill(a_);
  const ledger::Lease lease = b_.start("large", 16);
  EXPECT_THAT(a_.partitions(), ElementsAre(lease.partition));
  EXPECT_THAT(warm(), IsEmpty());
}

TEST_F(FleetWarmTest, IsKeptWhereItIsOfNoUse) {
  a_.start("a", 8);
  fill(a_);
  EXPECT_TRUE(test::fails(b_.prepare("large", 16), Code::kBusy, "no free block of 16"));
  EXPECT_THAT(warm(), SizeIs(2));
}

// Whatever the maker does, it does not touch what a container of another host has.
TEST_F(FleetWarmTest, TheMakerDoesNotTouchWhatAnotherHostHas) {
  fill(a_);
  const std::string taken = b_.start("web", 4).partition;
  EXPECT_THAT(gc(a_), IsEmpty());
  keep({});
  fill(a_);
  EXPECT_THAT(a_.partitions(), ElementsAre(taken));
  std::vector<Error> obstacles;
  EXPECT_THAT(remove_of_earlier_boots(a_.env, a_.config.pools, soon(), obstacles).take(),
              IsEmpty());
  EXPECT_THAT(compare_fleet(a_.env, a_.config.pools, soon()), IsEmpty());
  EXPECT_THAT(a_.partitions(), ElementsAre(taken));
}

// A record of the maker that is left over says nothing of whose the partition is by now.
TEST_F(FleetWarmTest, ALeftoverRecordOfTheMakerEndsAlone) {
  const std::vector<std::string> made = fill(a_).made;
  ledger::PartitionRecord record;
  record.pool = "pod16";
  record.name = made[0];
  record.source = config::source_of(a_.config.pools[0]);
  record.kind = ledger::PartitionKind::kWarm;
  record.ipus = 4;
  record.owner = test::dead_process();
  record.boot_id = base::boot_id().take();
  record.fleet = kPrefix_;
  ASSERT_TRUE(test::succeeds(a_.ledger.partitions().intend(record)));
  EXPECT_EQ(b_.start("web", 4).partition, made[0]);
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_THAT(a_.partitions(), Contains(made[0]));
  EXPECT_THAT(a_.ledger.partitions().all().take(), IsEmpty());
}

// An older copy of the store knows neither its removal nor who took it instead.
TEST_F(FleetWarmTest, ALeftoverRecordOfTheMakerEndsNothingThatTheStoreForgot) {
  const std::vector<std::string> made = fill(a_).made;
  const ledger::Lease lease = b_.start("web", 4);
  ledger::PartitionRecord record;
  record.pool = "pod16";
  record.name = lease.partition;
  record.source = config::source_of(a_.config.pools[0]);
  record.kind = ledger::PartitionKind::kWarm;
  record.state = ledger::PartitionState::kRemoving;
  record.ipus = 4;
  record.owner = test::dead_process();
  record.boot_id = base::boot_id().take();
  record.fleet = kPrefix_;
  ASSERT_TRUE(test::succeeds(a_.ledger.partitions().intend(record)));
  ASSERT_TRUE(test::succeeds(fleet::ungrant(fleet(), "pod16", lease.claim)));
  const std::vector<Error> obstacles = gc(a_);
  ASSERT_THAT(obstacles, SizeIs(1));
  EXPECT_THAT(obstacles[0].message(), HasSubstr("etcd does not know whose it is"));
  EXPECT_THAT(a_.partitions(), Contains(lease.partition));
  EXPECT_THAT(compare_fleet(a_.env, a_.config.pools, soon())[0].message(),
              HasSubstr("etcd does not know it"));
  // Its host says so again.
  ASSERT_TRUE(test::succeeds(fleet::grant_again(fleet(), grant_of(b_.env, lease))));
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_THAT(a_.partitions(), Contains(lease.partition));
  EXPECT_THAT(a_.ledger.partitions().all().take(), IsEmpty());
}

TEST_F(FleetWarmTest, AFenceOfTheMakerSparesWhatIsIdleOrAnothers) {
  fill(a_);
  const std::string own = a_.start("own", 2).partition;
  const std::string taken = b_.start("web", 4).partition;
  std::vector<Error> obstacles;
  fence(b_, tag(a_), obstacles);
  EXPECT_THAT(obstacles, IsEmpty());
  EXPECT_THAT(a_.partitions(), AllOf(SizeIs(2), Contains(taken), Not(Contains(own))));
  EXPECT_THAT(warm(), SizeIs(1));
  ASSERT_THAT(grants(), SizeIs(1));
  EXPECT_EQ(grants()[0].partition, taken);
  EXPECT_THAT(fill(a_).obstacles, Not(IsEmpty())) << "it makes none any more";
  keep({});
  EXPECT_THAT(fill(a_).obstacles, Not(IsEmpty())) << "and removes none";
  EXPECT_THAT(warm(), SizeIs(1));
}

TEST_F(FleetWarmTest, AFenceOfTheTakerRemovesWhatItHasFirst) {
  fill(a_);
  const std::string taken = b_.start("web", 4).partition;
  a_.controller.set_unreachable(true);
  std::vector<Error> obstacles;
  fence(a_, tag(b_), obstacles);
  EXPECT_THAT(obstacles, Not(IsEmpty()));
  EXPECT_THAT(grants(), SizeIs(1)) << "the grant stays until its partition is gone";
  a_.controller.set_unreachable(false);
  obstacles.clear();
  fence(a_, tag(b_), obstacles);
  EXPECT_THAT(obstacles, IsEmpty());
  EXPECT_THAT(a_.partitions(), AllOf(SizeIs(1), Not(Contains(taken))));
  EXPECT_THAT(grants(), IsEmpty());
  EXPECT_THAT(warm(), SizeIs(1));
}

TEST_F(FleetWarmTest, AFenceRemovesWhatTheHostMakesOrRemoves) {
  a_.before_create = [&] {
    a_.controller.fail_next(Error(Code::kTimeout, "late"),
                            test::FakeController::When::kAfterAndLeave);
  };
  fill(a_);
  a_.before_create = nullptr;
  a_.controller.set_unreachable(false);
  ASSERT_THAT(a_.partitions(), SizeIs(1));
  ASSERT_THAT(warm(), SizeIs(1));
  EXPECT_EQ(warm()[0].phase, fleet::WarmPhase::kMaking);
  EXPECT_THAT(b_.start("web", 4).partition, StartsWith("c-")) << "nobody takes what is being made";
  ASSERT_TRUE(test::succeeds(stop(b_, "web")));
  std::vector<Error> obstacles;
  fence(b_, tag(a_), obstacles);
  EXPECT_THAT(obstacles, IsEmpty());
  EXPECT_THAT(a_.partitions(), IsEmpty());
  EXPECT_THAT(warm(), IsEmpty());
}

// A host that is gone in the middle of a removal does not keep others from the IPUs.
TEST_F(FleetWarmTest, AnotherHostEndsTheRemovalOfADeadOne) {
  keep({{8, 2}});
  const std::vector<std::string> made = fill(a_).made;
  for (const std::string& name : made)
    ASSERT_EQ(fleet::begin_warm_removal(fleet(), "pod16", name, tag(a_)).take(),
              fleet::WarmFate::kOwn);
  EXPECT_THAT(b_.start("large", 16).partition, StartsWith("c-"));
  EXPECT_THAT(warm(), IsEmpty());
}

// The ledger of the maker is lost while it makes and removes.
TEST_F(FleetWarmTest, WhatNoLedgerKnowsIsMendedByTheHostThatEtcdNames) {
  const std::vector<std::string> made = fill(a_).made;
  ASSERT_EQ(fleet::begin_warm_removal(fleet(), "pod16", made[0], tag(a_)).take(),
            fleet::WarmFate::kOwn);
  fleet::Warm making = warm()[0];
  making.name = "f-00112233-000000000001";
  making.maker = making.changer = tag(a_);
  making.phase = fleet::WarmPhase::kMaking;
  ASSERT_TRUE(fleet::begin_warm(fleet(), making, 9).take());
  EXPECT_THAT(gc(b_), IsEmpty());
  EXPECT_THAT(warm(), SizeIs(3)) << "another host does not";
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_THAT(warm_names(), ElementsAre(made[1]));
  expect_whole();
}

// A grant names the partition, and no ledger knows its lease: a container may run all the same.
TEST_F(FleetWarmTest, ALostGrantKeepsItsPartitionUnlessItsLeaseHasEnded) {
  fill(a_);
  ASSERT_TRUE(test::succeeds(b_.ledger.host().adopt({"2222222222222222"})));  // it has a disk
  const ledger::Lease lease = b_.start("web", 4);
  fleet::Grant lost = grants()[0];
  lost.id = "00000000000000000000000000000000";
  lost.partition = "f-00112233-000000000002";
  lost.source.clear();  // as earlier releases wrote it
  ASSERT_TRUE(test::succeeds(fleet::grant_again(fleet(), lost)));
  EXPECT_THAT(gc(b_), SizeIs(1));
  EXPECT_THAT(grants(), SizeIs(2));
  ASSERT_TRUE(test::succeeds(stop(b_, "web")));
  fleet::Grant late = lost;
  late.id = lease.id;
  late.partition = warm_names()[0];
  ASSERT_TRUE(test::succeeds(fleet::grant_again(fleet(), late)));
  EXPECT_THAT(a_.partitions(), SizeIs(1));
  EXPECT_THAT(gc(b_), SizeIs(1));
  EXPECT_THAT(grants(), SizeIs(1));
  EXPECT_THAT(a_.partitions(), IsEmpty());
}

// Somebody has removed it by hand, as the error says.
TEST_F(FleetWarmTest, ALostGrantGoesOnceItsPartitionIsGone) {
  fill(a_);
  ASSERT_TRUE(test::succeeds(b_.ledger.host().adopt({"2222222222222222"})));  // it has a disk
  const ledger::Lease lease = b_.start("web", 4);
  fleet::Grant lost = grants()[0];
  EXPECT_EQ(lost.source, lease.controller);
  lost.id = "00000000000000000000000000000000";
  lost.partition = warm_names()[0];
  ASSERT_TRUE(test::succeeds(fleet::grant_again(fleet(), lost)));
  EXPECT_THAT(gc(b_), SizeIs(1));
  EXPECT_TRUE(test::fails(leave_fleet(b_.env, soon()), Code::kBusy, "vipu-admin"))
      << "nobody else would know whose it is";
  const auto controller = b_.env.controller(b_.config.pools[0]);
  ASSERT_TRUE(test::succeeds(controller->remove(lost.partition, vipu::Force::kYes, soon())));
  EXPECT_THAT(gc(b_), IsEmpty());
  EXPECT_THAT(grants(), SizeIs(1));
  EXPECT_THAT(a_.partitions(), ElementsAre(lease.partition));
}

// Who inherits a partition has the grant of a lease that may be forgotten.
TEST_F(FleetWarmTest, AHostWithoutADiskRemovesNoPartitionThatItsLedgerHas) {
  fill(a_);
  const ledger::Lease lease = b_.start("web", 4);
  fleet::Grant inherited = grants()[0];
  ASSERT_TRUE(test::succeeds(fleet::ungrant(fleet(), inherited.pool, inherited.id)));
  inherited.id = "00000000000000000000000000000000";
  ASSERT_TRUE(test::succeeds(fleet::grant_again(fleet(), inherited)));
  std::vector<Error> obstacles;
  EXPECT_THAT(remove_of_earlier_boots(b_.env, b_.config.pools, soon(), obstacles).take(),
              IsEmpty());
  EXPECT_THAT(a_.partitions(), Contains(lease.partition));
}

TEST_F(FleetWarmTest, AFenceRemovesWhatAnUnreadableGrantNames) {
  fill(a_);
  const ledger::Lease lease = b_.start("web", 4);
  fleet::Txn txn;
  txn.puts = {{str(fleet::grants_prefix(kPrefix_), "pod16/", lease.claim),
               str(R"({"host":")", tag(b_), R"(","partition":")", lease.partition, R"("})")}};
  ASSERT_TRUE(test::succeeds(store_.commit(txn, soon())));
  std::vector<Error> obstacles;
  fence(a_, tag(b_), obstacles);
  EXPECT_THAT(a_.partitions(), Not(Contains(lease.partition)));
  EXPECT_THAT(grants(), IsEmpty());
}

TEST_F(FleetWarmTest, AStoreThatLostItsDataIsNotAskedWhoHasAPartition) {
  fill(a_);
  const std::string id = fleet::read_fleet_id(store_, kPrefix_, soon()).take();
  test::FakeStore empty;
  const fleet::Fleet gone{empty, kPrefix_, soon(), id};
  EXPECT_TRUE(test::fails(fleet::begin_warm_removal(gone, "pod16", warm_names()[0], tag(a_)),
                          Code::kNotFound));
}

// An older copy of the store says that it is idle.
TEST_F(FleetWarmTest, WhatRunsIsNotIdleAfterOneRestore) {
  fill(a_);
  ledger::Lease lease = b_.start("web", 4);
  const base::ProcessId self = base::current_process().take();
  ASSERT_TRUE(test::succeeds(b_.ledger.begin_attach(lease, self, {{4, 5, 6}, 3, 77})));
  ASSERT_TRUE(test::succeeds(b_.ledger.mark_running(lease, self)));
  fleet::Warm idle = warm()[0];
  idle.name = lease.partition;
  idle.maker = idle.changer = tag(a_);
  idle.phase = fleet::WarmPhase::kMaking;
  ASSERT_TRUE(test::succeeds(fleet::ungrant(fleet(), "pod16", lease.claim)));
  ASSERT_TRUE(fleet::begin_warm(fleet(), idle, 9).take());
  ASSERT_TRUE(test::succeeds(fleet::finish_warm(fleet(), idle)));
  EXPECT_THAT(compare_fleet(b_.env, b_.config.pools, soon()), Not(IsEmpty()));
  EXPECT_THAT(gc(b_), IsEmpty());
  EXPECT_THAT(warm_names(), Not(Contains(lease.partition)));
  ASSERT_THAT(grants(), SizeIs(1));
  EXPECT_EQ(grants()[0].partition, lease.partition);
}

TEST_F(FleetWarmTest, WhatAHostKeptForItselfIsReplacedWhenItJoins) {
  const config::FleetConfig fleet = *a_.config.fleet;
  a_.config.fleet.reset();
  EXPECT_THAT(fill(a_).made, Each(StartsWith("w-")));
  a_.config.fleet = fleet;
  const Refilled again = fill(a_);
  EXPECT_THAT(again.removed, AllOf(SizeIs(2), Each(StartsWith("w-"))));
  EXPECT_THAT(again.made, AllOf(SizeIs(2), Each(StartsWith("f-"))));
  expect_whole();
}

TEST_F(FleetWarmTest, WhoLeavesKeepsWhatItsContainersHave) {
  fill(a_);
  const std::string taken = b_.start("web", 4).partition;
  ASSERT_TRUE(test::succeeds(leave_fleet(b_.env, soon())));
  b_.config.fleet.reset();
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_THAT(a_.partitions(), Contains(taken));
  ASSERT_TRUE(test::succeeds(stop(b_, "web")));
  expect_whole();
}

TEST_F(FleetWarmTest, ThatIsNotActiveIsReplacedByAnyHost) {
  const std::vector<std::string> made = fill(a_).made;
  a_.controller.tear(made[0], "an IPU failed");
  const Refilled again = fill(b_);
  EXPECT_THAT(again.removed, ElementsAre(made[0]));
  EXPECT_THAT(again.made, SizeIs(1));
  expect_whole();
}

TEST_F(FleetWarmTest, ThatFailedUnnoticedIsMadeAnewForTheContainer) {
  for (const std::string& name : fill(a_).made) a_.controller.tear(name, "an IPU failed");
  const ledger::Lease lease = b_.start("web", 4);
  EXPECT_THAT(lease.partition, StartsWith("f-"));
  EXPECT_EQ(a_.controller.status(lease.partition, soon()).take().ready, vipu::ReadyState::kActive);
  EXPECT_EQ(grants()[0].partition, lease.partition);
}

TEST_F(FleetWarmTest, WhatEtcdDoesNotKnowIsTold) {
  fill(a_);
  fleet::Warm one = warm()[0];
  ASSERT_TRUE(test::succeeds(fleet::forget_warm(fleet(), "pod16", one.name)));
  ASSERT_THAT(compare_fleet(a_.env, a_.config.pools, soon()), SizeIs(1));
  EXPECT_THAT(compare_fleet(a_.env, a_.config.pools, soon())[0].message(),
              testing::HasSubstr("etcd does not know it"));
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_THAT(a_.partitions(), SizeIs(2)) << "a container may have it";
}

}  // namespace
}  // namespace hook::lifecycle::partitions
