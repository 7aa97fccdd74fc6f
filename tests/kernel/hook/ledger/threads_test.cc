// SPDX-License-Identifier: Apache-2.0
// Eight threads of one process, each with a ledger of its own on the same file, as a library that
// is used by several threads must bear it; under FLAVOR=tsan also that nothing is shared unguarded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/ledger.h"
#include "tests/kernel/hook/ledger/files_in_memory.h"
#include "tests/support/outcome.h"
#include "tests/support/sql.h"
#include "tests/support/temp_dir.h"

namespace hook::ledger {
namespace {

using namespace base::names;
using testing::IsEmpty;

constexpr int kThreads = 8;
constexpr int kRounds = 60;      // of each thread
constexpr uint32_t kIpus = 12;   // few, so that they are in each other's way
constexpr uint32_t kRange = 40;  // as many addresses as are in quarantine in the end

// What the threads have in common beside the file.
class World {
 public:
  std::atomic<int64_t> now{1'000'000'000'000};
  std::atomic<int> held{0};
  std::atomic<int> refused{0};
  std::atomic<int> warm_made{0};
  std::atomic<int> warm_taken{0};

  // WHAT is had by one thread from take() to give_back().
  void take(const std::string& what) {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(taken_.insert(what).second) << what << " is given twice";
  }
  void give_back(const std::string& what) {
    const std::lock_guard lock(mutex_);
    taken_.erase(what);
  }

 private:
  std::mutex mutex_;
  std::set<std::string> taken_;
};

ledger::Ledger open(const std::string& path, World& world) {
  return ledger::Ledger::open(path, [&world] { return world.now.load(); }).take();
}

class Worker {
 public:
  Worker(const std::string& path, World& world, const config::RailConfig& rail, int number)
      : world_(world),
        ledger_(open(path, world)),
        rail_(rail),
        name_(str("worker-", number)),
        random_(static_cast<uint32_t>(number)) {}

  void run() {
    for (int i = 0; i < kRounds; ++i) round(i);
  }

 private:
  void round(int number) {
    world_.now += 50;
    ledger::Waiter waiter;
    waiter.resource = pool_.name;
    waiter.container = name_;
    const base::Result<int64_t> ticket = ledger_.queue().enter(waiter);
    ASSERT_TRUE(test::succeeds(ticket));
    if (random_() % 3 == 0) make_warm(str("w-", name_, "-", number));
    const ledger::Intent intent{name_, "/run/bundle", "", pool_, {rail_}, 1, {}};
    base::Result<ledger::Lease> lease = ledger_.acquire(intent);
    if (lease.ok()) {
      hold(lease.value());
    } else {
      EXPECT_TRUE(test::fails(lease, Code::kBusy, "are taken"));
      ++world_.refused;
    }
    EXPECT_THAT(ledger_.queue().list().take(), Not(IsEmpty()));
    EXPECT_TRUE(test::succeeds(ledger_.queue().leave(ticket.value())));
  }

  void make_warm(const std::string& name) {
    ledger::PartitionRecord record;
    record.pool = pool_.name;
    record.name = name;
    record.source = config::source_of(pool_);
    record.kind = ledger::PartitionKind::kWarm;
    record.ipus = 1;
    const auto room = ledger_.partitions().intend_warm(record, 3);
    ASSERT_TRUE(test::succeeds(room));
    if (room.value() == ledger::Partitions::Recorded::kNo) return;
    EXPECT_TRUE(test::succeeds(ledger_.partitions().mark_ready(record)));
    ++world_.warm_made;
  }

  // The whole life of a lease. An IPU or an address may be another thread's at the moment.
  void hold(ledger::Lease& lease) {
    const base::Result<ledger::Ledger::Taken> warm = ledger_.take_warm(lease);
    ASSERT_TRUE(test::succeeds(warm));
    if (warm.value() == ledger::Ledger::Taken::kYes) {
      world_.take(lease.partition);  // for ever: its name is given once
      ++world_.warm_taken;
    }
    const uint32_t ipu = static_cast<uint32_t>(random_() % kIpus);
    const base::Status allocated = ledger_.mark_allocated(
        lease, {{netns::parse_address("10.5.1.1").take(), ipu}}, {}, {{rail_, "roce0"}});
    if (allocated.ok()) {
      use(lease);
    } else {
      EXPECT_THAT(allocated.error().code(), testing::AnyOf(Code::kExists, Code::kBusy))
          << allocated.error().message();
      ++world_.refused;
    }
    ASSERT_TRUE(test::succeeds(ledger_.begin_release(lease, {}, "")));
    EXPECT_TRUE(test::succeeds(ledger_.finish_release(lease)));
  }

  void use(ledger::Lease& lease) {
    const ledger::RailLease& rail = lease.rails.at(0);
    const std::vector<std::string> all = {netns::to_string(rail.address),
                                          netns::to_string(rail.mac),
                                          str("IPU ", lease.devices.at(0).device)};
    for (const std::string& what : all) world_.take(what);
    EXPECT_TRUE(test::succeeds(ledger_.mark_running(lease, {})));
    for (const std::string& what : all) world_.give_back(what);
    ++world_.held;
  }

  World& world_;
  ledger::Ledger ledger_;
  const config::RailConfig rail_;
  const std::string name_;
  const config::PoolConfig pool_{"pod64", config::Provider::kVipu, "10.1.3.101:8090"};
  std::mt19937 random_;
};

class ThreadsOnOneLedger : public testing::Test {
 protected:
  std::string integrity() {
    return base::join(test::query_sql(path_, "PRAGMA integrity_check"), "\n");
  }

  test::FilesInMemory files_;
  test::TempDir dir_;
  const std::string path_ = dir_ / "state/ledger.db";
  const config::RailConfig rail_{"ens1f0",
                                 {},
                                 netns::parse_prefix("10.5.0.0/16").take(),
                                 netns::parse_address("10.5.200.1").take(),
                                 netns::parse_address(str("10.5.200.", kRange)).take()};
  World world_;
};

TEST_F(ThreadsOnOneLedger, GetNothingTwiceAndLeaveItConsistent) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    // The file is made by whoever is first.
    threads.emplace_back([this, i] { Worker(path_, world_, rail_, i).run(); });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(integrity(), "ok");
  ledger::Ledger ledger = open(path_, world_);
  EXPECT_THAT(ledger.live().take(), IsEmpty());
  EXPECT_THAT(ledger.queue().list().take(), IsEmpty());
  const size_t warm_left = ledger.partitions().all().take().size();
  EXPECT_EQ(warm_left, static_cast<size_t>(world_.warm_made - world_.warm_taken));
  const ledger::Ledger::RailUse use = ledger.use_of(rail_).take();
  EXPECT_EQ(use.held, 0U);
  EXPECT_EQ(use.free + use.quarantined, kRange);
  // All of it has happened.
  EXPECT_GT(world_.held, kThreads * kRounds / 2);
  EXPECT_GT(world_.refused, 0);
  EXPECT_GT(world_.warm_taken, kThreads);
}

}  // namespace
}  // namespace hook::ledger
