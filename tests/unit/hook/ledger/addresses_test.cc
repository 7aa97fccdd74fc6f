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

namespace hook {
namespace {

using base::Code;

using AddressTest = LedgerFixture;

constexpr int64_t kQuarantineMs = 2000;

TEST_F(AddressTest, AreTheFirstOnesOfTheRangeThatNobodyHad) {
  const Lease first = acquire();
  EXPECT_EQ(address(first), "10.5.200.10");
  release(first);
  now_ += kQuarantineMs;
  EXPECT_EQ(address(acquire()), "10.5.200.11");
  EXPECT_EQ(address(acquire()), "10.5.200.12");
}

TEST_F(AddressTest, AreReusedWhenAllWereUsedTheLongestFreeFirst) {
  const Lease first = acquire();
  const Lease second = acquire();
  const Lease third = acquire();
  for (const Lease& lease : {second, third, first}) {
    release(lease);
    now_ += 1;
  }
  now_ += kQuarantineMs;
  EXPECT_EQ(address(acquire()), "10.5.200.11");
  EXPECT_EQ(address(acquire()), "10.5.200.12");
  EXPECT_EQ(address(acquire()), "10.5.200.10");
}

TEST_F(AddressTest, AreNotGivenInTheirQuarantine) {
  const Lease first = acquire();
  acquire();
  acquire();
  release(first);
  now_ += kQuarantineMs - 1;
  EXPECT_TRUE(test::fails(try_acquire(), Code::kBusy, "2 by containers, 1 in quarantine"));
  now_ += 1;
  EXPECT_EQ(address(acquire()), address(first));
}

TEST_F(AddressTest, AreInQuarantineNoLongerWhenTheClockWasSetBack) {
  const Lease first = acquire();
  acquire();
  acquire();
  release(first);
  now_ -= 3'600'000;
  EXPECT_EQ(address(acquire()), address(first));
}

TEST_F(AddressTest, AreAllTakenByName) {
  acquire();
  acquire();
  acquire();
  const base::Result<Lease> none = try_acquire();
  EXPECT_TRUE(test::fails(none, Code::kBusy,
                          "all 3 addresses of rail 'ens1f0' (10.5.200.10-10.5.200.12) are taken:"
                          " 3 by containers, 0 in quarantine"));
  EXPECT_TRUE(test::fails(none, Code::kBusy, "give network.rail a larger range"));
}

TEST_F(AddressTest, AreNeverHeldByALeaseThatWasNotMade) {
  acquire();
  acquire();
  acquire();
  EXPECT_FALSE(try_acquire().ok());
  EXPECT_EQ(ledger_.live().take().size(), 3U);
}

TEST_F(AddressTest, ComeFromBothEndsOfARangeThatGrew) {
  acquire();
  acquire();
  acquire();
  rail_.first = ip("10.5.200.9");
  rail_.last = ip("10.5.200.13");
  EXPECT_EQ(address(acquire()), "10.5.200.13");
  EXPECT_EQ(address(acquire()), "10.5.200.9");
  EXPECT_FALSE(try_acquire().ok());
}

TEST_F(AddressTest, ComeFromARangeThatMoved) {
  acquire();
  rail_.first = rail_.last = ip("10.5.210.1");
  EXPECT_EQ(address(acquire()), "10.5.210.1");
  EXPECT_FALSE(try_acquire().ok());
}

TEST_F(AddressTest, HaveTheMacOfTheirPoolWhenThePoolHasAnotherName) {
  rail_.last = rail_.first;
  release(acquire());
  now_ += kQuarantineMs;
  Intent other = intent("container");
  other.pool.name = "pod16";
  const base::Result<Lease> lease = ledger_.acquire(other);
  ASSERT_TRUE(test::succeeds(lease));
  EXPECT_EQ(lease.value().rails[0].mac, mac_of("pod16", rail_.first));
  EXPECT_EQ(stored(lease.value()).rails, lease.value().rails);
}

TEST_F(AddressTest, AreOneForEachRail) {
  Intent two_rails = intent("container");
  two_rails.rails.push_back({"ens1f1", {ip("10.6.0.0"), 16}, ip("10.6.200.10"), ip("10.6.200.10")});
  const base::Result<Lease> lease = ledger_.acquire(two_rails);
  ASSERT_TRUE(test::succeeds(lease));
  ASSERT_EQ(lease.value().rails.size(), 2U);
  EXPECT_EQ(lease.value().rails[1].interface, "roce1");
  EXPECT_EQ(lease.value().rails[1].parent, "ens1f1");
  EXPECT_EQ(stored(lease.value()).rails, lease.value().rails);
  // The second rail has no more: nothing is held of the first one either.
  EXPECT_TRUE(test::fails(ledger_.acquire(two_rails), Code::kBusy, "rail 'ens1f1'"));
  EXPECT_EQ(address(acquire()), "10.5.200.11");
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
        const base::Result<Lease> lease = ledger.value().acquire(intent("container"));
        if (!lease.ok()) ::_exit(2);
        const std::string line = address(lease.value()) + "\n";
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
}  // namespace hook
