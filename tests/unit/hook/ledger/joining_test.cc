// SPDX-License-Identifier: Apache-2.0
// Containers of one pod: they have the partition of its sandbox, until the last of them ends.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/support/sql.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using base::Code;
using testing::IsEmpty;
using testing::SizeIs;

class JoiningTest : public LedgerFixture {
 protected:
  Intent member(const std::string& container) {
    Intent intent = this->intent(container);
    intent.sandbox = "sandbox";
    return intent;
  }
  // Its times are all different.
  base::Result<Lease> try_join(const std::string& container) {
    now_ += 1;
    return ledger_.acquire(member(container));
  }
  Lease join(const std::string& container) {
    base::Result<Lease> lease = try_join(container);
    EXPECT_TRUE(test::succeeds(lease));
    return std::move(lease).take();
  }
  void allocate_all(Lease& lease) {
    ASSERT_TRUE(test::succeeds(ledger_.mark_allocated(lease, ipus_, {}, {{rail_, "roce0"}}, in_)));
  }
  void attach(Lease& lease) {
    ASSERT_TRUE(test::succeeds(ledger_.begin_attach(lease, {5000, 1, 1}, {in_, 7, 99})));
  }
  void make_partition(bool shared) {
    PartitionRecord record;
    record.pool = pool_.name;
    record.name = "p0";
    record.source = config::source_of(pool_);
    record.ipus = 4;
    record.gcds = 2;
    record.shared = shared;
    ASSERT_TRUE(test::succeeds(ledger_.partitions().intend(record)));
    ASSERT_TRUE(test::succeeds(ledger_.partitions().mark_ready(record)));
  }
  Lease sandbox(const std::optional<NamedPartition>& named = std::nullopt) {
    Intent intent = this->intent("sandbox");
    intent.named = named;
    Lease lease = ledger_.acquire(intent).take();
    allocate_all(lease);
    attach(lease);
    return lease;
  }
  void begin_release(Lease& lease) {
    ASSERT_TRUE(test::succeeds(ledger_.begin_release(lease, releaser_, "")));
  }
  int64_t holders_of_ipus() {
    const std::vector<Lease> live = ledger_.live().take();
    return std::count_if(live.begin(), live.end(), [](const Lease& lease) {
      return lease.origin != Origin::kJoined && !lease.devices.empty();
    });
  }
  // Whether another partition can have the IPUs.
  bool are_free(const std::vector<LeasedIpu>& ipus) {
    Lease probe = acquire("probe");
    const bool free = ledger_.mark_allocated(probe, ipus, {}, {}).ok();
    release(probe);
    return free;
  }

  const std::vector<LeasedIpu> ipus_{ipu("10.5.1.1", 0), ipu("10.5.1.1", 1)};
  const netns::Identity in_{4, 4026532000, 5};
};

TEST_F(JoiningTest, HasThePartitionOfTheSandbox) {
  const Lease first = sandbox();
  Lease lease = join("app");
  EXPECT_EQ(lease.origin, Origin::kJoined);
  EXPECT_EQ(lease.partition, first.partition);
  EXPECT_EQ(lease.controller, first.controller);
  EXPECT_EQ(lease.ipus, 2U);
  EXPECT_EQ(lease.devices, ipus_);
  EXPECT_EQ(stored(lease).devices, ipus_);
  ASSERT_TRUE(test::succeeds(ledger_.mark_allocated(lease, {}, {}, {{rail_, "roce0"}}, in_)));
  EXPECT_EQ(lease.devices, ipus_);
  EXPECT_EQ(lease.ipus, 2U);
  EXPECT_EQ(lease.rails, first.rails);
  EXPECT_EQ(stored(lease).origin, Origin::kJoined);
  EXPECT_EQ(stored(lease).devices, ipus_);
  release(lease);
  EXPECT_EQ(stored(first).devices, ipus_);
  EXPECT_EQ(stored(first).origin, Origin::kOwn);
}

TEST_F(JoiningTest, NeedsNoAddressThatIsFree) {
  rail_.last = rail_.first;
  const Lease first = sandbox();
  Lease lease = join("app");
  allocate_all(lease);
  EXPECT_EQ(lease.rails, first.rails);
}

TEST_F(JoiningTest, IsAsIfThereWereNoSandboxWhereNoneHasALease) {
  EXPECT_EQ(join("a").origin, Origin::kOwn);
  Lease ending = sandbox();
  begin_release(ending);
  EXPECT_EQ(join("b").origin, Origin::kOwn);
  ASSERT_TRUE(test::succeeds(ledger_.finish_release(ending)));
  EXPECT_EQ(join("c").origin, Origin::kOwn);
  sandbox();
  Intent elsewhere = member("d");
  elsewhere.pool.name = "pod16";
  EXPECT_EQ(ledger_.acquire(elsewhere).take().origin, Origin::kOwn);
  EXPECT_EQ(join("e").origin, Origin::kJoined);
}

TEST_F(JoiningTest, IsNotForASandboxOfAnEarlierBoot) {
  sandbox();
  ASSERT_TRUE(test::succeeds(test::run_sql(path_, "UPDATE lease SET boot_id = 'an earlier one'")));
  EXPECT_EQ(join("app").origin, Origin::kOwn);
}

TEST_F(JoiningTest, WaitsForASandboxThatIsBeingStarted) {
  acquire("sandbox");
  EXPECT_TRUE(test::fails(try_join("app"), Code::kBusy,
                          "sandbox, the sandbox of the pod, is still"
                          " being started"));
}

TEST_F(JoiningTest, IsForAllGcdsOrForTheSameOne) {
  make_partition(false);
  sandbox(NamedPartition{"p0", {}, true});
  const auto join_named = [&](const NamedPartition& named) {
    Intent intent = member("app");
    intent.named = named;
    return ledger_.acquire(intent);
  };
  const Lease same = join_named({"p0", {}, true}).take();
  EXPECT_EQ(same.origin, Origin::kJoined);
  EXPECT_EQ(same.gcds, 2U);
  EXPECT_EQ(stored(same).devices, ipus_);
  EXPECT_EQ(join_named({"p0", {}}).take().gcds, 2U);
  EXPECT_TRUE(test::fails(join_named({"p0", 1}), Code::kBusy, "sandbox (all 2 GCDs)"));
}

TEST_F(JoiningTest, IsNotForAllGcdsWhereTheSandboxHasOne) {
  make_partition(false);
  sandbox(NamedPartition{"p0", 0});
  Intent intent = member("app");
  intent.named = NamedPartition{"p0", {}, true};
  EXPECT_TRUE(test::fails(ledger_.acquire(intent), Code::kBusy, "sandbox (GCD 0)"));
}

TEST_F(JoiningTest, IsNotForOneThatAsksForAnotherPartitionByName) {
  make_partition(false);
  sandbox(NamedPartition{"p0", 0});
  Intent intent = member("same");
  intent.named = NamedPartition{"p0", {}};
  EXPECT_EQ(ledger_.acquire(intent).take().origin, Origin::kJoined);
  intent.named->gcd = 1;
  EXPECT_EQ(ledger_.acquire(intent).take().origin, Origin::kNamed);
}

TEST_F(JoiningTest, LeavesThePartitionToTheOldestThatStays) {
  Lease first = sandbox();
  Lease ending = join("ending");
  Lease oldest = join("oldest");
  const Lease other = join("other");
  allocate_all(ending);
  allocate_all(oldest);
  begin_release(ending);
  begin_release(first);
  EXPECT_EQ(first.origin, Origin::kJoined);
  EXPECT_THAT(first.devices, IsEmpty());
  EXPECT_EQ(stored(first).origin, Origin::kJoined);
  EXPECT_THAT(stored(first).devices, IsEmpty());
  EXPECT_EQ(stored(oldest).origin, Origin::kOwn);
  EXPECT_EQ(stored(other).origin, Origin::kJoined);
  EXPECT_EQ(stored(other).devices, ipus_);
  EXPECT_FALSE(are_free(ipus_));
  ASSERT_TRUE(test::succeeds(ledger_.finish_release(first)));
  EXPECT_FALSE(are_free(ipus_));
}

// Its process knows nothing of it, and loses nothing.
TEST_F(JoiningTest, MayBecomeTheOwnerWhileItIsBeingStarted) {
  Lease first = sandbox();
  Lease lease = join("app");
  release(first);
  ASSERT_EQ(lease.origin, Origin::kJoined);
  allocate_all(lease);
  EXPECT_EQ(lease.origin, Origin::kOwn);
  EXPECT_EQ(lease.devices, ipus_);
  EXPECT_EQ(stored(lease).devices, ipus_);
  begin_release(lease);
  EXPECT_EQ(lease.origin, Origin::kOwn) << "so that it removes the partition";
}

TEST_F(JoiningTest, MayBecomeTheOwnerWhileItsStartFails) {
  Lease first = sandbox();
  Lease lease = join("app");
  release(first);
  begin_release(lease);
  EXPECT_EQ(lease.origin, Origin::kOwn) << "so that it removes the partition";
  EXPECT_FALSE(are_free(ipus_));
  ASSERT_TRUE(test::succeeds(ledger_.finish_release(lease)));
  EXPECT_TRUE(are_free(ipus_));
}

// The ends of a sandbox and two members in each order, each in two steps, the second of them by
// another process as if the first one had died.
TEST_F(JoiningTest, IsOverOnceAndWithTheLastInEveryOrder) {
  std::vector<size_t> steps{0, 0, 1, 1, 2, 2};
  int orders = 0;
  do {
    std::vector<Lease> pod{sandbox(), join("a"), join("b")};
    allocate_all(pod[1]);  // the other is not that far, and has no part in the interface
    std::vector<size_t> removers;
    std::vector<size_t> begun;
    for (const size_t step : steps) {
      const bool is_first = std::count(begun.begin(), begun.end(), step) == 0;
      if (is_first) {
        begin_release(pod[step]);
        begun.push_back(step);
        if (pod[step].origin == Origin::kOwn) removers.push_back(step);
        EXPECT_EQ(removers.size(), begun.size() == pod.size() ? 1U : 0U);
      } else {
        const Origin before = pod[step].origin;
        pod[step] = stored(pod[step]);
        begin_release(pod[step]);
        EXPECT_EQ(pod[step].origin, before);
        ASSERT_TRUE(test::succeeds(ledger_.finish_release(pod[step])));
        const bool is_attached = is_live(stored(pod[0]).state) || is_live(stored(pod[1]).state);
        EXPECT_EQ(ledger_.held_addresses("ens1f0").take(), is_attached ? 1U : 0U);
      }
      const bool is_removed = removers.size() == 1 && !is_live(stored(pod[removers[0]]).state);
      EXPECT_EQ(holders_of_ipus(), is_removed ? 0 : 1);
    }
    EXPECT_THAT(ledger_.live().take(), IsEmpty());
    now_ += 10'000;
    ++orders;
  } while (std::next_permutation(steps.begin(), steps.end()));
  EXPECT_EQ(orders, 90);
  EXPECT_TRUE(are_free(ipus_));
}

TEST_F(JoiningTest, KeepsANamedPartitionInUse) {
  make_partition(false);
  Lease first = sandbox(NamedPartition{"p0", 0});
  Lease lease = join("app");
  allocate_all(lease);
  const Lease late = join("late");
  Intent other = intent("other");
  other.named = NamedPartition{"p0", 0};
  EXPECT_TRUE(test::fails(ledger_.acquire(other), Code::kBusy, "in use by container sandbox"));
  begin_release(first);
  EXPECT_EQ(stored(lease).origin, Origin::kNamed);
  EXPECT_TRUE(test::fails(ledger_.acquire(other), Code::kBusy, "in use by container app"));
  EXPECT_THAT(ledger_.partitions().holders("pod64", "p0").take(), SizeIs(3));
  release(late);
  release(stored(lease));
  // The one that had it first is not released yet: it may still be reached from there.
  const Lease next = ledger_.acquire(other).take();
  EXPECT_EQ(ledger_.partitions().reset_duty(next).take(), ResetDuty::kOthers);
  ASSERT_TRUE(test::succeeds(ledger_.finish_release(first)));
  EXPECT_EQ(ledger_.partitions().reset_duty(next).take(), ResetDuty::kMine);
}

TEST_F(JoiningTest, NeverResetsThePartition) {
  make_partition(false);
  Lease first = sandbox(NamedPartition{"p0", 0});
  const Lease lease = join("app");
  EXPECT_EQ(ledger_.partitions().reset_duty(lease).take(), ResetDuty::kNone);
  begin_release(first);
  EXPECT_EQ(ledger_.partitions().reset_duty(lease).take(), ResetDuty::kNone)
      << "or just left to it";
}

TEST_F(JoiningTest, LeavesASharedPartitionSharedAsWell) {
  make_partition(true);
  Lease first = sandbox(NamedPartition{"p0", 0});
  Intent beside = intent("beside");
  beside.named = NamedPartition{"p0", 0};
  Lease other = ledger_.acquire(beside).take();
  allocate_all(other);
  Lease lease = join("app");
  Lease second = join("app2");
  EXPECT_EQ(lease.devices, ipus_);
  release(first);
  EXPECT_EQ(stored(lease).origin, Origin::kShared);
  EXPECT_EQ(stored(second).devices, ipus_);
  release(other);
  EXPECT_EQ(stored(second).origin, Origin::kShared);
  release(lease);
  EXPECT_EQ(stored(second).devices, ipus_);
  EXPECT_FALSE(are_free(ipus_));
  release(second);
  EXPECT_TRUE(are_free(ipus_));
}

}  // namespace
}  // namespace hook::ledger
