// SPDX-License-Identifier: Apache-2.0
// The states of a lease, and who may change them.
#include "hook/ledger/ledger.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "base/fs.h"
#include "base/names.h"
#include "hook/ledger/internal/sqlite.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using namespace base::names;

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

using LedgerTest = LedgerFixture;

TEST_F(LedgerTest, IsReadableByItsOwnerOnly) {
  acquire();
  EXPECT_EQ(mode_of(dir_ / "state"), 0700U);
  for (const char* file : {"state/ledger.db", "state/ledger.db-wal", "state/ledger.db-shm"}) {
    EXPECT_EQ(mode_of(dir_ / file), 0600U) << file;
  }
}

TEST_F(LedgerTest, KeepsItsLogWhenTheLastProcessClosesIt) {
  acquire();
  { const Ledger closed = std::move(ledger_); }
  struct stat log {};
  ASSERT_EQ(::stat((dir_ / "state/ledger.db-wal").c_str(), &log), 0);
  EXPECT_GT(log.st_size, 0);
  EXPECT_EQ(open().live().take().size(), 1U);
}

TEST_F(LedgerTest, CopiesItsLogIntoTheDatabaseWhenItSettles) {
  for (const char* name : {"a", "b", "c"}) release(allocate(name));
  const auto leases_without_log = [&] {
    const std::string copy = dir_ / "copy.db";
    std::filesystem::copy_file(path_, copy, std::filesystem::copy_options::overwrite_existing);
    return Ledger::open_copy(copy).take().leases_of("c").take().size();
  };
  sqlite::Database other = sqlite::Database::open(path_, 0).take();
  ASSERT_TRUE(test::succeeds(other.execute("BEGIN IMMEDIATE")));
  ledger_.settle();  // does not wait
  ASSERT_TRUE(test::succeeds(other.execute("COMMIT")));
  ledger_.settle();
  EXPECT_EQ(leases_without_log(), 1U);
  now_ += 10'000;  // the addresses are free again
  const Lease next = acquire("d");
  EXPECT_EQ(stored(next).container, "d");
  EXPECT_EQ(open().leases_of("d").take().size(), 1U) << "the log is begun anew";
}

TEST_F(LedgerTest, RefusesAFileThatIsNone) {
  ASSERT_TRUE(base::write_atomic(dir_ / "other.db", std::string(4096, 'x'), {}).ok());
  EXPECT_TRUE(test::fails(Ledger::open(dir_ / "other.db"), Code::kInternal, "is damaged"));
}

TEST_F(LedgerTest, BeginsALeaseWithItsIntent) {
  const Lease lease = acquire("web");
  EXPECT_TRUE(is_lease_id(lease.id));
  EXPECT_EQ(lease.state, LeaseState::kIntent);
  EXPECT_EQ(lease.container, "web");
  EXPECT_EQ(lease.bundle, "/run/bundle");
  EXPECT_EQ(lease.tenant, "team-a");
  EXPECT_EQ(lease.pool, "pod64");
  EXPECT_EQ(lease.controller, "10.1.3.101:8090");
  EXPECT_EQ(lease.partition, partition_name("00000000", lease.id));
  EXPECT_EQ(lease.ipus, 4U);
  EXPECT_EQ(lease.owner, (base::ProcessId{4211, 99, 0}));
  EXPECT_EQ(lease.boot_id, base::boot_id().value());
  EXPECT_EQ(lease.netns_id, -1);
  EXPECT_EQ(lease.created_ms, now_);
  EXPECT_EQ(lease.attachment, "");
  EXPECT_TRUE(lease.rails.empty());
}

void expect_same(const Lease& a, const Lease& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.state, b.state);
  EXPECT_EQ(a.generation, b.generation);
  EXPECT_EQ(a.owner, b.owner);
  EXPECT_EQ(a.netns, b.netns);
  EXPECT_EQ(a.netns_id, b.netns_id);
  EXPECT_EQ(a.attachment, b.attachment);
  EXPECT_EQ(a.origin, b.origin);
  EXPECT_EQ(a.ipus, b.ipus);
  EXPECT_EQ(a.host_netns_cookie, b.host_netns_cookie);
  EXPECT_EQ(a.error, b.error);
  EXPECT_EQ(a.obstacle, b.obstacle);
  EXPECT_EQ(a.created_ms, b.created_ms);
  EXPECT_EQ(a.changed_ms, b.changed_ms);
  EXPECT_EQ(a.rails, b.rails);
  EXPECT_EQ(a.devices, b.devices);
  EXPECT_EQ(a.prohibited, b.prohibited);
}

TEST_F(LedgerTest, StoresEveryChangeAsTheCallerHasIt) {
  Lease lease = acquire();
  expect_same(stored(lease), lease);
  now_ += 10;
  ASSERT_TRUE(test::succeeds(ledger_.mark_allocated(lease, {ipu("10.5.1.1", 0), ipu("10.5.1.1", 1)},
                                                    {{ip("10.5.0.0"), 16}, {ip("fd00::1"), 128}},
                                                    {{rail_, "roce0"}})));
  EXPECT_EQ(lease.attachment, lease.id);
  EXPECT_EQ(lease.state, LeaseState::kAllocated);
  EXPECT_EQ(lease.changed_ms, now_);
  expect_same(stored(lease), lease);
  const netns::Identity netns{4, UINT64_MAX, 0x8000000000000001};
  ASSERT_TRUE(
      test::succeeds(ledger_.begin_attach(lease, {5000, UINT64_MAX, 1}, {netns, 7, UINT64_MAX})));
  EXPECT_EQ(lease.state, LeaseState::kAllocated);
  EXPECT_EQ(lease.netns, netns);
  expect_same(stored(lease), lease);
  ASSERT_TRUE(test::succeeds(ledger_.mark_running(lease, {5001, 2, 3})));
  EXPECT_EQ(lease.state, LeaseState::kRunning);
  EXPECT_EQ(lease.owner, (base::ProcessId{5001, 2, 3}));
  expect_same(stored(lease), lease);
  ASSERT_TRUE(test::succeeds(ledger_.begin_release(lease, releaser_, "")));
  EXPECT_EQ(lease.owner, releaser_);
  expect_same(stored(lease), lease);
  ASSERT_TRUE(test::succeeds(ledger_.note_obstacle(lease, "the controller is down")));
  EXPECT_EQ(stored(lease).obstacle, "the controller is down");
  ASSERT_TRUE(test::succeeds(ledger_.finish_release(lease)));
  EXPECT_EQ(lease.state, LeaseState::kQuarantine);
  EXPECT_EQ(lease.quarantine_until_ms, now_ + 2000);
  EXPECT_EQ(lease.obstacle, "");
  EXPECT_TRUE(lease.rails.empty());
  EXPECT_TRUE(lease.devices.empty());
  expect_same(stored(lease), lease);
  now_ += 2000;
  EXPECT_EQ(stored(lease).state, LeaseState::kFree);
}

TEST_F(LedgerTest, EndsALeaseWithAReasonAsFailed) {
  Lease lease = acquire();
  ASSERT_TRUE(test::succeeds(ledger_.begin_release(lease, releaser_, "no capacity")));
  ASSERT_TRUE(test::succeeds(ledger_.begin_release(lease, releaser_, "a later one")));
  ASSERT_TRUE(test::succeeds(ledger_.finish_release(lease)));
  EXPECT_EQ(stored(lease).state, LeaseState::kFailed);
  EXPECT_EQ(stored(lease).error, "no capacity");
}

TEST_F(LedgerTest, TakesAChangeOnlyFromTheStateThatItStartsFrom) {
  struct Change {
    const char* name;
    std::function<Status(Lease&)> make;
    std::vector<LeaseState> from;
  };
  const Change changes[] = {
      {"allocated",
       [&](Lease& l) { return ledger_.mark_allocated(l, {}, {}, {}); },
       {LeaseState::kIntent}},
      {"attaching",
       [&](Lease& l) { return ledger_.begin_attach(l, {}, {}); },
       {LeaseState::kAllocated}},
      {"running", [&](Lease& l) { return ledger_.mark_running(l, {}); }, {LeaseState::kAllocated}},
      {"releasing",
       [&](Lease& l) { return ledger_.begin_release(l, {}, ""); },
       {LeaseState::kIntent, LeaseState::kAllocated, LeaseState::kRunning, LeaseState::kReleasing}},
      {"released", [&](Lease& l) { return ledger_.finish_release(l); }, {LeaseState::kReleasing}},
      {"note_obstacle",
       [&](Lease& l) { return ledger_.note_obstacle(l, "x"); },
       {LeaseState::kReleasing}},
  };
  // Steps through all states of one lease; in each state the changes that must not be are tried.
  const auto expect_refused = [&](Lease& lease) {
    for (const Change& change : changes) {
      if (std::count(change.from.begin(), change.from.end(), lease.state) > 0) continue;
      EXPECT_TRUE(test::fails(change.make(lease), Code::kInternal, name_of(lease.state)))
          << change.name;
    }
    expect_same(stored(lease), lease);
  };
  Lease lease = acquire();
  for (const size_t next : {0U, 2U, 3U, 4U}) {
    expect_refused(lease);
    ASSERT_TRUE(test::succeeds(changes[next].make(lease)));
  }
  ASSERT_EQ(lease.state, LeaseState::kFree);
  expect_refused(lease);
}

TEST_F(LedgerTest, RefusesAWriterThatReadAnOlderGeneration) {
  Lease first = acquire();
  Ledger other = open();
  Lease second = other.find(first.id).take().value();
  ASSERT_TRUE(test::succeeds(other.mark_allocated(second, {ipu("10.5.1.1", 0)}, {}, {})));
  EXPECT_TRUE(test::fails(ledger_.begin_release(first, releaser_, ""), Code::kBusy,
                          "was changed by another process"));
  EXPECT_EQ(first.state, LeaseState::kIntent);
  expect_same(stored(second), second);
  EXPECT_TRUE(
      test::fails(ledger_.mark_allocated(first, {ipu("10.5.1.1", 1)}, {}, {}), Code::kBusy));
  expect_same(stored(second), second);
}

TEST_F(LedgerTest, LetsALateReleaseNotTouchANewerLeaseOfTheContainer) {
  Lease old_lease = acquire("web");
  release(old_lease);
  const Lease new_lease = acquire("web");
  EXPECT_FALSE(ledger_.begin_release(old_lease, releaser_, "").ok());
  expect_same(stored(new_lease), new_lease);
}

TEST_F(LedgerTest, GivesAnIpuToOneLeaseOnly) {
  Lease first = acquire("a");
  Lease second = acquire("b");
  ASSERT_TRUE(test::succeeds(
      ledger_.mark_allocated(first, {ipu("10.5.1.1", 0), ipu("10.5.1.1", 1)}, {}, {})));
  EXPECT_TRUE(
      test::fails(ledger_.mark_allocated(second, {ipu("10.5.1.2", 0), ipu("10.5.1.1", 1)}, {}, {}),
                  Code::kExists, "IPU 1 of 10.5.1.1, which another container holds"));
  EXPECT_EQ(second.state, LeaseState::kIntent);
  expect_same(stored(second), second);
  EXPECT_TRUE(test::succeeds(ledger_.mark_allocated(second, {ipu("10.5.1.2", 0)}, {}, {})));
}

// Its pool may have had another name when it was given.
TEST_F(LedgerTest, GivesACardToOneLeaseOnlyInWhateverPool) {
  const auto cards = [&](const std::string& container, const std::string& pool) {
    Intent what = intent(container);
    what.pool = {pool, config::Provider::kPcie};
    what.rails.clear();
    return ledger_.acquire(what).take();
  };
  const auto card = [](uint32_t device) { return LeasedIpu{{}, device, 0, 0}; };
  Lease first = cards("a", "cards");
  Lease second = cards("b", "gpu");
  ASSERT_TRUE(test::succeeds(ledger_.mark_allocated(first, {card(0)}, {}, {})));
  EXPECT_TRUE(test::fails(ledger_.mark_allocated(second, {card(0)}, {}, {}), Code::kExists,
                          "card 0, which another container holds"));
  EXPECT_TRUE(test::succeeds(ledger_.mark_allocated(second, {card(1)}, {}, {})));
}

// The filter of a container lets it reach ports. A controller could give two containers one port by
// two numbers of devices.
TEST_F(LedgerTest, GivesAPortOfAnAddressToOneLeaseOnly) {
  Lease first = acquire("a");
  Lease second = acquire("b");
  LeasedIpu held = ipu("10.5.1.1", 0);
  ASSERT_TRUE(test::succeeds(ledger_.mark_allocated(first, {held}, {}, {})));
  for (const auto& [server, rdma] :
       std::vector<std::pair<uint16_t, uint16_t>>{{held.server_port, 60001},
                                                  {60001, held.rdma_port},
                                                  {held.rdma_port, 60001},
                                                  {60001, held.server_port}}) {
    LeasedIpu wanted = ipu("10.5.1.1", 1);
    wanted.server_port = server;
    wanted.rdma_port = rdma;
    EXPECT_TRUE(test::fails(ledger_.mark_allocated(second, {wanted}, {}, {}), Code::kExists,
                            "of 10.5.1.1, which another container holds"));
    expect_same(stored(second), second);
  }
  LeasedIpu elsewhere = held;
  elsewhere.address = netns::parse_address("10.5.1.2").take();
  EXPECT_TRUE(test::succeeds(ledger_.mark_allocated(second, {elsewhere}, {}, {})));
}

TEST_F(LedgerTest, GivesAnIpuAgainAsSoonAsItsLeaseIsFree) {
  Lease first = acquire("a");
  Lease second = acquire("b");
  ASSERT_TRUE(test::succeeds(ledger_.mark_allocated(first, {ipu("10.5.1.1", 0)}, {}, {})));
  release(first);
  EXPECT_TRUE(test::succeeds(ledger_.mark_allocated(second, {ipu("10.5.1.1", 0)}, {}, {})));
}

// The limit on the size of a file stands in for a full disk.
TEST_F(LedgerTest, LeavesTheCallersLeaseAsItIsStoredWhenTheDiskIsFull) {
  Lease lease = acquire();
  struct stat log {};
  ASSERT_EQ(::stat((dir_ / "state/ledger.db-wal").c_str(), &log), 0);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  (void)::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{static_cast<rlim_t>(log.st_size), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const Status full = ledger_.mark_allocated(lease, {ipu("10.5.1.1", 0)}, {}, {});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  (void)::signal(SIGXFSZ, SIG_DFL);
  EXPECT_FALSE(full.ok());
  EXPECT_EQ(lease.state, LeaseState::kIntent);
  expect_same(stored(lease), lease);
  EXPECT_TRUE(test::succeeds(ledger_.mark_allocated(lease, {ipu("10.5.1.1", 0)}, {}, {})));
}

TEST_F(LedgerTest, ListsLiveLeasesOldestFirst) {
  const Lease first = acquire("a");
  now_ += 1;
  const Lease second = acquire("b");
  now_ += 1;
  const Lease third = acquire("c");
  release(second);
  const std::vector<Lease> live = ledger_.live().take();
  ASSERT_EQ(live.size(), 2U);
  expect_same(live[0], first);
  expect_same(live[1], third);
}

TEST_F(LedgerTest, ForgetsLeasesThatEndedAWeekAgo) {
  const Lease ended = acquire("ended");
  const Lease running = acquire("running");
  release(ended);
  now_ += int64_t{7} * 24 * 3600 * 1000;
  acquire("x");
  EXPECT_TRUE(ledger_.find(ended.id).take().has_value());
  now_ += 1;
  acquire("y");
  EXPECT_FALSE(ledger_.find(ended.id).take().has_value());
  EXPECT_TRUE(ledger_.find(running.id).take().has_value());
}

TEST_F(LedgerTest, HasNoLeaseThatNobodyMade) {
  EXPECT_FALSE(ledger_.find("0123").take().has_value());
  EXPECT_TRUE(ledger_.live().take().empty());
}

TEST_F(LedgerTest, TriesAReleaseThatFailsLessAndLessOften) {
  Lease lease = allocate();
  ASSERT_TRUE(test::succeeds(ledger_.begin_release(lease, releaser_, "")));
  EXPECT_TRUE(is_due(lease.retry_ms, now_));
  for (const int64_t seconds : {2, 4, 8, 16, 32, 64, 128, 256, 300, 300}) {
    ASSERT_TRUE(test::succeeds(ledger_.note_obstacle(lease, "the controller is down")));
    EXPECT_EQ(stored(lease).retry_ms, now_ + seconds * 1000);
    EXPECT_FALSE(is_due(lease.retry_ms, now_ + seconds * 1000 - 1));
    EXPECT_TRUE(is_due(lease.retry_ms, now_ + seconds * 1000));
  }
  EXPECT_TRUE(is_due(lease.retry_ms, now_ - 1'000'000)) << "the clock was set back";
}

TEST_F(LedgerTest, KeepsWhereAContainerCanBeFoundAgain) {
  Intent what = intent("web");
  what.state_dir = "/run/runc/web";
  Lease lease = ledger_.acquire(what).take();
  ASSERT_TRUE(test::succeeds(ledger_.mark_allocated(lease, {}, {}, {})));
  ASSERT_TRUE(test::succeeds(ledger_.mark_running(lease, {1, 2, 3}, "/docker/web")));
  EXPECT_EQ(stored(lease).state_dir, "/run/runc/web");
  EXPECT_EQ(stored(lease).cgroup, "/docker/web");
}

TEST_F(LedgerTest, TakesANewFirstProcessOfARunningContainerOnly) {
  Lease lease = allocate();
  EXPECT_TRUE(test::fails(ledger_.adopt_process(lease, {5, 6, 7}), Code::kInternal));
  ASSERT_TRUE(test::succeeds(ledger_.mark_running(lease, {1, 2, 3})));
  const Lease before = lease;
  ASSERT_TRUE(test::succeeds(ledger_.adopt_process(lease, {5, 6, 7})));
  EXPECT_EQ(stored(lease).owner, (base::ProcessId{5, 6, 7}));
  EXPECT_EQ(stored(lease).state, LeaseState::kRunning);
  Lease old = before;
  EXPECT_TRUE(test::fails(ledger_.adopt_process(old, {8, 9, 7}), Code::kBusy));
}

TEST_F(LedgerTest, TellsOfAllLiveLeasesInBrief) {
  const Lease first = allocate("a");
  const Lease second = allocate("b");
  release(allocate("c"));
  const std::vector<LeaseHold> holds = ledger_.holds().take();
  ASSERT_EQ(holds.size(), 2U);
  EXPECT_EQ(holds[0].id == first.id ? holds[1].id : holds[0].id, second.id);
  EXPECT_EQ(holds[0].owner, first.owner);
  EXPECT_EQ(holds[0].boot_id, first.boot_id);
  EXPECT_EQ(holds[0].state, LeaseState::kAllocated);
}

TEST_F(LedgerTest, CanBeReadWithoutBeingTouched) {
  const Lease lease = allocate();
  Ledger copy = Ledger::open_copy(path_).take();
  EXPECT_EQ(copy.live().take().size(), 1U);
  Lease inside = copy.find(lease.id).take().value();
  ASSERT_TRUE(test::succeeds(copy.mark_running(inside, {1, 2, 3})));
  EXPECT_EQ(stored(lease).state, LeaseState::kAllocated);
}

TEST_F(LedgerTest, IsEmptyToAReaderAndNotMadeWhereItIsAbsent) {
  Ledger copy = Ledger::open_copy(dir_ / "absent/ledger.db").take();
  EXPECT_TRUE(copy.live().take().empty());
  EXPECT_FALSE(std::filesystem::exists(dir_ / "absent"));
}

TEST_F(LedgerTest, IsNotEmptyToAReaderWhoCannotReadIt) {
  ASSERT_TRUE(test::succeeds(base::write_atomic(dir_ / "broken.db", std::string(4096, 'x'), {})));
  EXPECT_FALSE(Ledger::open_copy(dir_ / "broken.db").ok());
}

}  // namespace
}  // namespace hook::ledger
