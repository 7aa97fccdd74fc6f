// SPDX-License-Identifier: Apache-2.0
// Which address a lease gets. The rail of the fixture has three: 10.5.200.10 to 12.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <set>

#include "base/fs.h"
#include "base/text.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using base::Code;

using AddressTest = LedgerFixture;

constexpr int64_t kQuarantineMs = 2000;
constexpr int64_t kDuplicateMs = 600'000;

TEST_F(AddressTest, AreTheFirstOnesOfTheRangeThatNobodyHad) {
  const Lease first = allocate();
  EXPECT_EQ(address(first), "10.5.200.10");
  release(first);
  now_ += kQuarantineMs;
  EXPECT_EQ(address(allocate()), "10.5.200.11");
  EXPECT_EQ(address(allocate()), "10.5.200.12");
}

TEST_F(AddressTest, AreReusedWhenAllWereUsedTheLongestFreeFirst) {
  const Lease first = allocate();
  const Lease second = allocate();
  const Lease third = allocate();
  for (const Lease& lease : {second, third, first}) {
    release(lease);
    now_ += 1;
  }
  now_ += kQuarantineMs;
  EXPECT_EQ(address(allocate()), "10.5.200.11");
  EXPECT_EQ(address(allocate()), "10.5.200.12");
  EXPECT_EQ(address(allocate()), "10.5.200.10");
}

TEST_F(AddressTest, AreNotGivenInTheirQuarantine) {
  const Lease first = allocate();
  allocate();
  allocate();
  release(first);
  now_ += kQuarantineMs - 1;
  EXPECT_TRUE(test::fails(try_allocate(), Code::kBusy,
                          "2 by containers (container, container), 1 in quarantine"));
  now_ += 1;
  EXPECT_EQ(address(allocate()), address(first));
}

TEST_F(AddressTest, AreInQuarantineNoLongerWhenTheClockWasSetBack) {
  const Lease first = allocate();
  allocate();
  allocate();
  release(first);
  now_ -= 3'600'000;
  EXPECT_EQ(address(allocate()), address(first));
}

TEST_F(AddressTest, AreAllTakenByName) {
  allocate("a");
  allocate("b");
  allocate("0123456789abcdef");
  const base::Result<Lease> none = try_allocate();
  EXPECT_TRUE(test::fails(none, Code::kBusy,
                          "all 3 addresses of rail 'ens1f0' (10.5.200.10-10.5.200.12) are taken:"
                          " 3 by containers (a, b, 0123456789ab); see 'ipuctl ps'"));
  EXPECT_TRUE(test::fails(none, Code::kBusy, "give network.rail a larger range"));
}

TEST_F(AddressTest, NameThreeHoldersAndHowManyMore) {
  rail_.last = ip("10.5.200.14");
  for (const char* name : {"a", "b", "c", "d", "e"}) allocate(name);
  EXPECT_TRUE(
      test::fails(try_allocate(), Code::kBusy, "5 by containers (a, b, c and 2 more); see"));
}

TEST_F(AddressTest, AreLookedForBeforeAnythingIsTakenAndHeldOnlyFromTheGrantOn) {
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(acquire().rails.empty());
  EXPECT_EQ(address(allocate()), "10.5.200.10");
  allocate();
  allocate();
  EXPECT_TRUE(test::fails(ledger_.acquire(intent("late")), Code::kBusy, "all 3 addresses"));
}

TEST_F(AddressTest, AreNeverHeldByALeaseThatWasNotMade) {
  allocate();
  allocate();
  allocate();
  EXPECT_FALSE(try_allocate().ok());
  EXPECT_EQ(ledger_.live().take().size(), 3U);
}

TEST_F(AddressTest, ComeFromBothEndsOfARangeThatGrew) {
  allocate();
  allocate();
  allocate();
  rail_.first = ip("10.5.200.9");
  rail_.last = ip("10.5.200.13");
  EXPECT_EQ(address(allocate()), "10.5.200.13");
  EXPECT_EQ(address(allocate()), "10.5.200.9");
  EXPECT_FALSE(try_allocate().ok());
}

TEST_F(AddressTest, ComeFromBetweenTwoRangesThatBecameOne) {
  const config::RailConfig both = rail_;
  rail_.last = rail_.first;
  allocate();
  rail_.first = rail_.last = both.last;
  allocate();
  rail_ = both;
  EXPECT_EQ(ledger_.use_of(rail_).take().free, 1U);
  EXPECT_EQ(address(allocate()), "10.5.200.11");
  EXPECT_FALSE(try_allocate().ok());
}

TEST_F(AddressTest, ComeFromARangeThatMoved) {
  allocate();
  rail_.first = rail_.last = ip("10.5.210.1");
  EXPECT_EQ(address(allocate()), "10.5.210.1");
  EXPECT_FALSE(try_allocate().ok());
}

TEST_F(AddressTest, MayBeIpv6) {
  rail_ = rail("ens1f0", "fd00:5::/64", "fd00:5::ff", "fd00:5::100");
  // In front of and inside of the range for those who compare bytes alone.
  config::RailConfig other = rail("ens1f1", "253.0.0.0/8", "253.0.0.5", "253.0.0.5");
  ASSERT_TRUE(try_allocate("x", {{other, "roce0"}}).ok());
  const Lease first = allocate();
  EXPECT_EQ(address(first), "fd00:5::ff");
  EXPECT_EQ(address(allocate()), "fd00:5::100");
  EXPECT_EQ(stored(first).rails, first.rails);
  EXPECT_TRUE(test::fails(try_allocate(), Code::kBusy, "(fd00:5::ff-fd00:5::100) are taken"));
  const Ledger::RailUse use = ledger_.use_of(rail_).take();
  EXPECT_EQ(use.held, 2U);
  EXPECT_EQ(use.free, 0U);
  release(first);
  now_ += kQuarantineMs;
  EXPECT_EQ(address(allocate()), "fd00:5::ff");
}

TEST_F(AddressTest, AreOneForEachRail) {
  const config::RailConfig second = rail("ens1f1", "10.6.0.0/16", "10.6.200.10", "10.6.200.10");
  const std::vector<RailRequest> both{{rail_, "roce0"}, {second, "roce1"}};
  const base::Result<Lease> lease = try_allocate("container", both);
  ASSERT_TRUE(test::succeeds(lease));
  ASSERT_EQ(lease.value().rails.size(), 2U);
  EXPECT_EQ(lease.value().rails[1].interface, "roce1");
  EXPECT_EQ(lease.value().rails[1].parent, "ens1f1");
  EXPECT_EQ(stored(lease.value()).rails, lease.value().rails);
  // The second rail has no more: nothing is held of the first one either.
  EXPECT_TRUE(test::fails(try_allocate("container", both), Code::kBusy, "rail 'ens1f1'"));
  EXPECT_EQ(address(allocate()), "10.5.200.11");
}

TEST_F(AddressTest, AreCountedByRailAndParent) {
  const Lease first = allocate();
  allocate();
  EXPECT_EQ(ledger_.held_addresses("ens1f0").take(), 2U);
  EXPECT_EQ(ledger_.held_addresses("ens1f1").take(), 0U);
  release(first);
  EXPECT_EQ(ledger_.held_addresses("ens1f0").take(), 1U);
  const Ledger::RailUse use = ledger_.use_of(rail_).take();
  EXPECT_EQ(use.free, 1U);
  EXPECT_EQ(use.held, 1U);
  EXPECT_EQ(use.quarantined, 1U);
  now_ += kQuarantineMs;
  EXPECT_EQ(ledger_.use_of(rail_).take().free, 2U);
}

TEST_F(AddressTest, AreSetAsideForTenMinutesWhenAnotherHostAnswersForThem) {
  rail_.last = rail_.first;
  const Lease lease = allocate();
  const netns::MacAddress other = netns::parse_mac("0c:42:a1:00:00:07").take();
  ASSERT_TRUE(test::succeeds(ledger_.note_duplicate(lease, "roce0", other)));
  EXPECT_EQ(stored(lease).generation, lease.generation);
  release(lease);
  now_ += kDuplicateMs - 1;
  EXPECT_TRUE(test::fails(try_allocate(), Code::kBusy,
                          "are taken: 1 set aside, because another host answers for it"
                          " (10.5.200.10 by MAC 0c:42:a1:00:00:07); see"));
  EXPECT_EQ(ledger_.use_of(rail_).take().quarantined, 1U);
  now_ += 1;
  const Lease next = allocate();
  release(next);
  now_ += kQuarantineMs;
  EXPECT_TRUE(test::succeeds(try_allocate())) << "it was not answered for again";
}

TEST_F(AddressTest, AreNotedAsAnsweredForOnlyWhileTheyAreHeld) {
  const Lease lease = allocate();
  EXPECT_TRUE(test::fails(ledger_.note_duplicate(lease, "roce7", {}), Code::kNotFound, "'roce7'"));
  release(lease);
  EXPECT_TRUE(test::fails(ledger_.note_duplicate(lease, "roce0", {}), Code::kBusy,
                          "address 10.5.200.10 is no longer held"));
}

// Each process opens the ledger for itself, as the runtime does; the file is not there yet.
TEST_F(AddressTest, AreDistinctForProcessesThatAskAtOnce) {
  constexpr int kProcesses = 8;
  constexpr int kLeases = 20;
  rail_.last = ip("10.5.201.255");
  const std::string fresh = dir_ / "fresh/ledger.db";
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const base::Fd results(ends[0]);
  base::Fd writer(ends[1]);
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      base::Result<Ledger> ledger = Ledger::open(fresh);
      if (!ledger.ok()) (void)std::fprintf(stderr, "%s\n", ledger.error().message().c_str());
      for (int n = 0; ledger.ok() && n < kLeases; ++n) {
        Lease lease = ledger.value().acquire(intent("container")).take();
        if (!ledger.value().mark_allocated(lease, {}, {}, {{rail_, "roce0"}}).ok()) ::_exit(2);
        const std::string line = address(lease) + "\n";
        if (!base::write_all(writer.get(), line, "pipe").ok()) ::_exit(3);
      }
      ::_exit(ledger.ok() ? 0 : 1);
    }
    children.push_back(pid);
  }
  writer.reset();
  const std::string text = base::read_all(results.get(), 1 << 20, "pipe").take();
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const std::vector<std::string_view> lines = base::split(base::trim(text), '\n');
  EXPECT_EQ(lines.size(), static_cast<size_t>(kProcesses * kLeases));
  EXPECT_EQ(std::set<std::string_view>(lines.begin(), lines.end()).size(), lines.size());
}

}  // namespace
}  // namespace hook::ledger
