// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/partitions.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using base::Code;
using testing::IsEmpty;
using testing::SizeIs;

class PartitionsTest : public LedgerFixture {
 protected:
  PartitionRecord record(const std::string& name, PartitionKind kind = PartitionKind::kNamed) {
    PartitionRecord record;
    record.pool = pool_.name;
    record.name = name;
    record.source = config::source_of(pool_);
    record.kind = kind;
    record.ipus = 4;
    record.owner = releaser_;
    return record;
  }
  void make(const PartitionRecord& record) {
    ASSERT_TRUE(test::succeeds(ledger_.partitions().intend(record)));
    ASSERT_TRUE(test::succeeds(ledger_.partitions().mark_ready(record)));
  }
  PartitionRecord make_two_gcds() {
    PartitionRecord two = record("p0");
    two.ipus = 8;
    two.gcds = 2;
    make(two);
    return two;
  }
  Lease use(const std::string& name, uint32_t gcd = 0) {
    Intent named = intent("user");
    named.named = NamedPartition{name, gcd};
    return ledger_.acquire(named).take();
  }
  ResetDuty duty(const Lease& lease) { return ledger_.partitions().reset_duty(lease).take(); }
  PartitionRecord foreign(const std::string& name) {
    PartitionRecord record;
    record.pool = pool_.name;
    record.name = name;
    record.source = config::source_of(pool_);
    record.ipus = 4;
    return record;
  }
  base::Status adopt(const PartitionRecord& record, std::vector<LeasedIpu> ipus = {}) {
    return ledger_.partitions().adopt(record, ipus);
  }
  void allocate(Lease& lease, std::vector<LeasedIpu> ipus) {
    ASSERT_TRUE(test::succeeds(ledger_.mark_allocated(lease, std::move(ipus), {}, {})));
  }
};

TEST_F(PartitionsTest, HaveEveryFieldThatWasWritten) {
  PartitionRecord whole = record("p0", PartitionKind::kWarm);
  whole.gcds = 2;
  whole.shared = whole.reconfigurable = whole.dirty = true;
  whole.resetter = "somebody";
  whole.boot_id = "boot";
  whole.created_ms = 1234;
  whole.user = 1000;
  ASSERT_TRUE(test::succeeds(ledger_.partitions().intend(whole)));
  const PartitionRecord read = ledger_.partitions().find(pool_.name, "p0").take().value();
  EXPECT_EQ(read.source, whole.source);
  EXPECT_EQ(read.kind, PartitionKind::kWarm);
  EXPECT_EQ(read.state, PartitionState::kIntent);
  EXPECT_EQ(read.ipus, 4U);
  EXPECT_EQ(read.gcds, 2U);
  EXPECT_TRUE(read.shared && read.reconfigurable && read.dirty);
  EXPECT_EQ(read.resetter, "somebody");
  EXPECT_EQ(read.boot_id, "boot");
  EXPECT_EQ(read.created_ms, 1234);
  EXPECT_EQ(read.user, 1000);
  EXPECT_EQ(read.owner, releaser_);
}

TEST_F(PartitionsTest, AreAskedForAgainInPlaceOfARecordThatNobodyChanged) {
  PartitionRecord left = record("p0");
  left.created_ms = 1;
  PartitionRecord again = record("p0");
  again.created_ms = 2;
  again.ipus = 8;
  ASSERT_TRUE(test::succeeds(ledger_.partitions().intend(left)));
  ASSERT_TRUE(test::succeeds(ledger_.partitions().intend_again(again, left)));
  EXPECT_EQ(ledger_.partitions().find(pool_.name, "p0").take()->ipus, 8U);
  EXPECT_TRUE(test::fails(ledger_.partitions().intend_again(again, left), Code::kBusy,
                          "was changed by another process"));
  ASSERT_TRUE(test::succeeds(ledger_.partitions().mark_ready(again)));
  EXPECT_TRUE(test::fails(ledger_.partitions().intend_again(left, again), Code::kBusy));
  EXPECT_THAT(ledger_.partitions().all().take(), SizeIs(1));
}

TEST_F(PartitionsTest, AreUsedOnlyWhenTheyAreReady) {
  ASSERT_TRUE(test::succeeds(ledger_.partitions().intend(record("p0"))));
  make(record("w-1", PartitionKind::kWarm));
  for (const char* name : {"p0", "w-1", "absent"}) {
    Intent named = intent("user");
    named.named = NamedPartition{name, {}};
    EXPECT_TRUE(test::fails(ledger_.acquire(named), Code::kNotFound, name));
  }
  EXPECT_THAT(ledger_.live().take(), IsEmpty());
}

TEST_F(PartitionsTest, AreReadyOnce) {
  make(record("p0"));
  EXPECT_TRUE(test::fails(ledger_.partitions().mark_ready(record("p0")), Code::kBusy, "p0"));
}

TEST_F(PartitionsTest, AreKeptWarmUpToTheLimitOfTheirSize) {
  Partitions partitions = ledger_.partitions();
  const auto warm = [&](const std::string& name, uint32_t ipus) {
    PartitionRecord sized = record(name, PartitionKind::kWarm);
    sized.ipus = ipus;
    return partitions.intend_warm(sized, 2).take();
  };
  EXPECT_EQ(warm("w-1", 4), Partitions::Recorded::kYes);
  EXPECT_EQ(warm("w-2", 4), Partitions::Recorded::kYes);
  EXPECT_EQ(warm("w-3", 4), Partitions::Recorded::kNo);
  EXPECT_EQ(warm("w-4", 2), Partitions::Recorded::kYes);
  EXPECT_THAT(partitions.all().take(), SizeIs(3));
}

TEST_F(PartitionsTest, OfOneSizeAndSourceAreTakenWarm) {
  make(record("w-1", PartitionKind::kWarm));
  Intent other_source = intent("a");
  other_source.pool.controller = "10.9.9.9:8090";
  Lease elsewhere = ledger_.acquire(other_source).take();
  EXPECT_EQ(ledger_.take_warm(elsewhere).take(), Ledger::Taken::kNone);
  Intent other_size = intent("b");
  other_size.ipus = 8;
  Lease larger = ledger_.acquire(other_size).take();
  EXPECT_EQ(ledger_.take_warm(larger).take(), Ledger::Taken::kNone);
  Lease fitting = acquire("c");
  EXPECT_EQ(ledger_.take_warm(fitting).take(), Ledger::Taken::kYes);
  EXPECT_EQ(stored(fitting).partition, "w-1");
  EXPECT_THAT(ledger_.partitions().all().take(), IsEmpty());
}

TEST_F(PartitionsTest, AreTakenByOneOfManyProcesses) {
  constexpr int kWarm = 4;
  constexpr int kProcesses = 12;
  for (int i = 0; i < kWarm; ++i) {
    make(record("w-" + std::to_string(i), PartitionKind::kWarm));
  }
  rail_.last = ip("10.5.200.60");
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      Ledger own = open();
      Lease lease = own.acquire(intent("c" + std::to_string(i))).take();
      ::_exit(own.take_warm(lease).take() == Ledger::Taken::kYes ? 1 : 0);
    }
    children.push_back(child);
  }
  int taken = 0;
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    taken += WEXITSTATUS(status);
  }
  EXPECT_EQ(taken, kWarm);
  EXPECT_THAT(ledger_.partitions().all().take(), IsEmpty());
}

TEST_F(PartitionsTest, AreCleanUntilTheyAreAllocated) {
  make(record("p0"));
  Lease first = use("p0");
  EXPECT_EQ(duty(first), ResetDuty::kNone);
  allocate(first, {ipu("10.5.1.1", 0)});
  release(first);
  const Lease second = use("p0");
  EXPECT_EQ(duty(second), ResetDuty::kMine);
  EXPECT_EQ(duty(second), ResetDuty::kMine) << "until it is done";
  ASSERT_TRUE(test::succeeds(ledger_.partitions().finish_reset(second)));
  EXPECT_EQ(duty(second), ResetDuty::kNone);
}

TEST_F(PartitionsTest, AreResetByOneLeaseWhileOthersWait) {
  make_two_gcds();
  Lease first = use("p0", 0);
  allocate(first, {ipu("10.5.1.1", 0)});
  release(first);
  const Lease resetter = use("p0", 0);
  const Lease other = use("p0", 1);
  EXPECT_EQ(duty(resetter), ResetDuty::kMine);
  EXPECT_EQ(duty(other), ResetDuty::kOthers);
  release(resetter);  // it died
  EXPECT_EQ(duty(other), ResetDuty::kMine);
}

TEST_F(PartitionsTest, AreNotResetUnderOneThatUsesThemNorBeforeOneIsReleased) {
  make_two_gcds();
  Lease user = use("p0", 0);
  allocate(user, {ipu("10.5.1.1", 0)});
  const Lease other = use("p0", 1);
  EXPECT_EQ(duty(other), ResetDuty::kNone) << "they use it together";
  ASSERT_TRUE(test::succeeds(ledger_.begin_release(user, releaser_, "")));
  EXPECT_EQ(duty(other), ResetDuty::kOthers);
  ASSERT_TRUE(test::succeeds(ledger_.finish_release(user)));
  EXPECT_EQ(duty(other), ResetDuty::kMine);
}

TEST_F(PartitionsTest, ShareTheirIpusWithinOneSharedPartitionOnly) {
  rail_.last = ip("10.5.200.60");
  PartitionRecord shared = record("shared");
  shared.shared = true;
  make(shared);
  PartitionRecord other = record("other");
  other.shared = true;
  make(other);
  Lease a = use("shared");
  Lease b = use("shared");
  allocate(a, {ipu("10.5.1.1", 0)});
  allocate(b, {ipu("10.5.1.1", 0)});
  Lease foreign = use("other");
  EXPECT_TRUE(test::fails(ledger_.mark_allocated(foreign, {ipu("10.5.1.1", 0)}, {}, {}),
                          Code::kExists, "which another container holds"));
  release(foreign);
  Lease exclusive = acquire("exclusive");
  EXPECT_TRUE(
      test::fails(ledger_.mark_allocated(exclusive, {ipu("10.5.1.1", 0)}, {}, {}), Code::kExists));
  release(a);
  EXPECT_TRUE(
      test::fails(ledger_.mark_allocated(exclusive, {ipu("10.5.1.1", 0)}, {}, {}), Code::kExists));
  release(b);
  EXPECT_TRUE(test::succeeds(ledger_.mark_allocated(exclusive, {ipu("10.5.1.1", 0)}, {}, {})));
}

TEST_F(PartitionsTest, AreRemovedByOneProcess) {
  make(record("p0"));
  PartitionRecord mine = ledger_.partitions().find(pool_.name, "p0").take().value();
  PartitionRecord theirs = mine;
  using Force = vipu::Force;
  const base::ProcessId other{4300, 7};
  ASSERT_TRUE(test::succeeds(ledger_.partitions().begin_removal(mine, releaser_, Force::kNo)));
  EXPECT_TRUE(test::fails(ledger_.partitions().begin_removal(theirs, other, Force::kYes),
                          Code::kBusy, "changed by another process"));
  EXPECT_TRUE(test::succeeds(ledger_.partitions().begin_removal(mine, other, Force::kNo)));
}

TEST_F(PartitionsTest, OfOthersAreReadyAndNobodysToHold) {
  ASSERT_TRUE(test::succeeds(adopt(foreign("p0"))));
  const PartitionRecord read = ledger_.partitions().find(pool_.name, "p0").take().value();
  EXPECT_EQ(read.kind, PartitionKind::kForeign);
  EXPECT_EQ(read.state, PartitionState::kReady);
  EXPECT_EQ(read.owner, base::ProcessId());
  const Lease lease = use("p0");
  EXPECT_EQ(lease.origin, Origin::kForeign);
  EXPECT_EQ(stored(lease).origin, Origin::kForeign);
  Intent again = intent("again");
  again.named = NamedPartition{"p0", 0};
  EXPECT_TRUE(test::fails(ledger_.acquire(again), Code::kBusy, "GCD 0 of partition 'p0'"));
}

TEST_F(PartitionsTest, OfOthersAreNeverResetOrRemoved) {
  ASSERT_TRUE(test::succeeds(adopt(foreign("p0"))));
  Lease first = use("p0");
  allocate(first, {ipu("10.5.1.1", 0), ipu("10.5.1.1", 1), ipu("10.5.1.1", 2), ipu("10.5.1.1", 3)});
  release(first);
  EXPECT_EQ(duty(use("p0")), ResetDuty::kNone);
  PartitionRecord record = ledger_.partitions().find(pool_.name, "p0").take().value();
  const auto begin_removal = [&] {
    return ledger_.partitions().begin_removal(record, releaser_, vipu::Force::kYes);
  };
  EXPECT_TRUE(test::fails(begin_removal(), Code::kDenied, "was adopted"));
  record.kind = PartitionKind::kNamed;  // as one read it that was forgotten, and adopted since
  EXPECT_TRUE(test::fails(begin_removal(), Code::kBusy));
  EXPECT_EQ(ledger_.partitions().find(pool_.name, "p0").take()->state, PartitionState::kReady);
}

TEST_F(PartitionsTest, OfOthersAreForgottenWhenNobodyHasThem) {
  ASSERT_TRUE(test::succeeds(adopt(foreign("p0"))));
  make(record("ours"));
  const Lease user = use("p0");
  EXPECT_TRUE(test::fails(ledger_.partitions().forget(foreign("p0")), Code::kBusy, "in use by"));
  release(user);
  EXPECT_TRUE(test::succeeds(ledger_.partitions().forget(foreign("p0"))));
  EXPECT_TRUE(test::fails(ledger_.partitions().forget(foreign("p0")), Code::kBusy));
  EXPECT_TRUE(test::fails(ledger_.partitions().forget(record("ours")), Code::kBusy));
  EXPECT_THAT(ledger_.partitions().all().take(), SizeIs(1));
}

TEST_F(PartitionsTest, OfOthersAreAdoptedOnceForAllPoolsOfTheirController) {
  make(record("ours"));
  EXPECT_TRUE(test::fails(adopt(foreign("ours")), Code::kExists, "'ours' already"));
  ASSERT_TRUE(test::succeeds(adopt(foreign("p0"))));
  EXPECT_TRUE(test::fails(adopt(foreign("p0")), Code::kExists, "'p0' already"));
  PartitionRecord elsewhere = foreign("p0");
  elsewhere.pool = "same controller";
  EXPECT_TRUE(test::fails(adopt(elsewhere), Code::kExists,
                          "partition 'p0' of this controller is already in pool"));
  elsewhere.source = "10.9.9.9:8090";
  EXPECT_TRUE(test::succeeds(adopt(elsewhere)));
}

TEST_F(PartitionsTest, OfOthersAreNotAdoptedWithWhatAContainerHas) {
  Lease lease = acquire("web");
  allocate(lease, {ipu("10.5.1.1", 0), ipu("10.5.1.1", 1)});
  EXPECT_TRUE(test::fails(adopt(foreign("p0"), {ipu("10.5.1.1", 2), ipu("10.5.1.1", 1)}),
                          Code::kBusy, "IPU 1 of 10.5.1.1 in partition 'p0' is held by"));
  EXPECT_THAT(ledger_.partitions().all().take(), IsEmpty());
  EXPECT_TRUE(test::succeeds(adopt(foreign("p0"), {ipu("10.5.1.1", 2), ipu("10.5.1.2", 1)})));
}

TEST_F(PartitionsTest, OfOthersAreNotAdoptedUnderOneThatWasRemovedByForce) {
  PartitionRecord ours = record("p0");
  make(ours);
  const Lease user = use("p0");
  ours = ledger_.partitions().find(pool_.name, "p0").take().value();
  ASSERT_TRUE(
      test::succeeds(ledger_.partitions().begin_removal(ours, releaser_, vipu::Force::kYes)));
  ASSERT_TRUE(test::succeeds(ledger_.partitions().finish_removal(ours)));
  EXPECT_TRUE(test::fails(adopt(foreign("p0")), Code::kBusy, "is in use by"));
  release(user);
  EXPECT_TRUE(test::succeeds(adopt(foreign("p0"))));
}

TEST_F(PartitionsTest, GiveTheIpusOfAGrantToTheLease) {
  Lease lease = acquire();
  allocate(lease, {ipu("10.5.1.1", 0), ipu("10.5.1.1", 1)});
  EXPECT_EQ(stored(lease).ipus, 2U);
}

TEST_F(PartitionsTest, LimitsTheReservationsOfAUser) {
  const auto reserve = [this](const std::string& name, int64_t user, uint32_t most) {
    PartitionRecord reservation = record(name);
    reservation.reservation = name;
    reservation.user = user;
    return ledger_.partitions().intend(reservation, most);
  };
  make(record("of-an-operator"));
  EXPECT_TRUE(test::succeeds(reserve("one", 1000, 8)));
  EXPECT_TRUE(test::succeeds(reserve("two", 1000, 8)));
  EXPECT_TRUE(test::fails(reserve("three", 1000, 8), Code::kDenied, "a user may reserve 8 IPUs"));
  EXPECT_TRUE(test::succeeds(reserve("of-bob", 1001, 8)));
  EXPECT_TRUE(test::succeeds(reserve("more", 1000, 12)));
  PartitionRecord wanted = record("wanted");
  wanted.user = 1001;
  EXPECT_TRUE(test::succeeds(ledger_.partitions().check_share(wanted, 8)));
  EXPECT_TRUE(test::fails(ledger_.partitions().check_share(wanted, 7), Code::kDenied, "have 4"));
  EXPECT_THAT(ledger_.partitions().all().take(), SizeIs(5));
}

}  // namespace
}  // namespace hook::ledger
