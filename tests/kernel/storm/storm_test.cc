// SPDX-License-Identifier: Apache-2.0
// 64 processes start and end containers on one POD256 while they are killed at random and the
// controller misbehaves. Afterwards controller, ledger and host agree, and no IPU was ever held
// twice.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "base/fs.h"
#include "base/json.h"
#include "base/names.h"
#include "base/scope.h"
#include "base/text.h"
#include "hook/container/oci/spec.h"
#include "hook/lifecycle/end/release.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "hook/lifecycle/partitions/warm.h"
#include "hook/lifecycle/queue_turn.h"
#include "tests/kernel/storm/worker.h"
#include "tests/support/outcome.h"
#include "tests/support/requires.h"
#include "tests/support/simulator_process.h"
#include "tests/support/temp_dir.h"

namespace storm {
namespace {

using namespace base::names;
using base::Json;
using std::chrono::milliseconds;

constexpr int kWorkers = 64;
constexpr milliseconds kTime{60'000};
constexpr uint32_t kSeed = 20201;

// A few percent of all calls go wrong, in every way.
constexpr const char* kFaults = R"({"seed": 7, "faults": [
  {"call":"CreatePartition","times":0,"probability":0.03,"action":"lose_reply"},
  {"call":"CreatePartition","times":0,"probability":0.03,"action":"lose_reply","status":"INTERNAL"},
  {"call":"CreatePartition","times":0,"probability":0.03,"action":"drop_before"},
  {"call":"CreatePartition","times":0,"probability":0.03,"action":"error_state","errors":["IPU 3 failed"]},
  {"call":"CreatePartition","times":0,"probability":0.02,"action":"stuck_pending"},
  {"call":"RemovePartition","times":0,"probability":0.03,"action":"lose_reply"},
  {"call":"RemovePartition","times":0,"probability":0.03,"action":"drop_before"},
  {"call":"*","times":0,"probability":0.02,"action":"disconnect"},
  {"call":"*","times":0,"probability":0.02,"action":"garbage"},
  {"call":"*","times":0,"probability":0.02,"action":"status","status":"UNAVAILABLE"},
  {"call":"*","times":0,"probability":0.05,"action":"delay","delay":"50ms"}
]})";

void run_program(const std::string& path, std::vector<std::string> args) {
  args.insert(args.begin(), path);
  const base::Result<base::Output> done =
      base::run({path, args, {}, "", 1 << 16, {}}, Deadline::after(milliseconds(20'000)));
  ASSERT_TRUE(test::succeeds(done));
  ASSERT_EQ(done.value().exit_status, 0) << base::join(args, " ") << ": " << done.value().out;
}

class Storm : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRES_ROOT();
    home_ = base::open_at(AT_FDCWD, "/proc/self/ns/net", O_RDONLY).take();
    ASSERT_EQ(::unshare(CLONE_NEWNET), 0);
    for (const char* words :
         {"link set lo up", "link add rail0 type veth peer name fabric0",
          "address add 10.5.0.9/16 dev rail0", "link set fabric0 up", "link set rail0 up"}) {
      std::vector<std::string> args;
      for (const std::string_view word : base::split(words, ' ')) args.emplace_back(word);
      run_program("/sbin/ip", args);
    }
    simulator_ = std::make_unique<test::SimulatorProcess>(
        PROGRAM_DIR "/vipu-simulator",
        std::vector<std::string>{"--listen", "127.0.0.1:0", "--pod", "pod256", "--create-delay",
                                 "20ms", "--auto-reset-delay", "1s", "--control", dir_ / "control",
                                 "--log", dir_ / "calls.log"});
    void* shared =
        ::mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(shared, MAP_FAILED);
    tally_ = new (shared) Tally;
    configure(simulator_->wait_until_ready());
  }
  void TearDown() override {
    for (const pid_t worker : workers_) end(worker);
    if (tally_ != nullptr) (void)::munmap(tally_, sizeof *tally_);
    if (!home_.valid()) return;  // skipped
    ASSERT_EQ(::setns(home_.get(), CLONE_NEWNET), 0);
  }

  void configure(const std::string& address) {
    hook::config::PoolConfig pool;
    pool.name = "pod256";
    pool.controller = address;
    pool.timeout = milliseconds(5000);
    pool.warm = {{4, 2}, {1, 2}};
    setting_.config.pools = {pool};
    setting_.config.network.rdma = hook::config::RdmaUse::kOff;
    hook::config::RailConfig rail;
    rail.parent = "rail0";
    rail.subnet = netns::parse_prefix("10.5.0.0/16").take();
    rail.first = netns::parse_address("10.5.200.1").take();
    rail.last = netns::parse_address("10.5.203.254").take();
    setting_.config.network.rails = {rail};
    setting_.config.network.duplicate_probe = milliseconds(0);
    setting_.ledger = dir_ / "state/ledger.db";
    setting_.run_dir = dir_ / "run";
    setting_.bundles = dir_ / "bundles";
    setting_.client = PROGRAM_DIR "/ipu-vipu-client";
    setting_.template_config =
        base::read_file(TEST_DATA_DIR "/docker-config.json", hook::oci::kMaxSpecBytes).take();
    ASSERT_TRUE(test::succeeds(base::ensure_dir(setting_.bundles, 0700)));
  }

  void control(std::vector<std::string> args) {
    args.insert(args.begin(), {"control", dir_ / "control"});
    run_program(PROGRAM_DIR "/vipu-simulator", args);
  }

  pid_t start_worker() {
    const uint32_t seed = kSeed + ++seeds_;
    const pid_t pid = ::fork();
    if (pid == 0) work(setting_, *tally_, seed);
    return pid;
  }
  static void end(pid_t pid) {
    if (pid <= 0) return;
    (void)::kill(pid, SIGKILL);
    (void)::waitpid(pid, nullptr, 0);
  }

  // Few of each, but enough for the checks at the end to mean something.
  [[nodiscard]] bool has_raged_enough() const {
    return tally_->started > 20 && tally_->abandoned + kills_ > 20 &&
           tally_->refused + tally_->failed > 10;
  }

  // Kills workers and puts new ones in their places, also in those of workers that ended. A machine
  // that has other things to do may need until LATEST.
  void rage(const Deadline& until, const Deadline& latest) {
    std::mt19937 random(kSeed);
    Deadline calm = latest.capped(milliseconds(15'000));
    while (!until.passed() || !(has_raged_enough() || latest.passed())) {
      base::sleep_for(milliseconds(50 + random() % 200), latest);
      pid_t& victim = workers_[random() % workers_.size()];
      end(victim);
      ++kills_;
      victim = start_worker();
      for (pid_t& worker : workers_) {
        if (::waitpid(worker, nullptr, WNOHANG) == worker) worker = start_worker();
      }
      if (!calm.passed()) continue;
      control({"restart", R"({"down":"200ms"})"});
      control({"agent-down", "ag7"});
      control({"agent-up", "ag7"});
      calm = latest.capped(milliseconds(15'000));
    }
  }

  // The storm is over: workers end what they are at.
  void calm_down() {
    tally_->stop = true;
    const Deadline patience = Deadline::after(milliseconds(180'000));
    for (pid_t& worker : workers_) {
      while (::waitpid(worker, nullptr, WNOHANG) == 0 && !patience.passed()) {
        base::sleep_for(milliseconds(10), patience);
      }
      EXPECT_FALSE(patience.passed()) << "a worker hangs";
      end(worker);
      worker = -1;
    }
  }

  // The log of the controller: no IPU had two holders; who holds one at the end.
  std::map<int, std::string> read_holders() {
    std::map<int, std::string> holders;
    const std::string log = base::read_file(dir_ / "calls.log", size_t{1} << 30).take();
    for (const std::string_view line : base::split(log, '\n')) {
      if (line.empty()) continue;
      const Json entry = base::parse_json(line, "log").take();
      const std::string event = entry.value("event", "");
      if (event == "hold") {
        for (const int ipu : entry["ipus"]) {
          EXPECT_TRUE(holders.emplace(ipu, entry["partition"]).second)
              << "IPU " << ipu << " of " << holders[ipu] << " given to " << entry["partition"];
          ++holds_;
        }
      } else if (event == "free") {
        for (const int ipu : entry["ipus"]) {
          EXPECT_EQ(holders[ipu], entry["partition"]) << ipu;
          holders.erase(ipu);
        }
      }
    }
    return holders;
  }

  base::Fd home_;
  test::TempDir dir_;
  std::unique_ptr<test::SimulatorProcess> simulator_;
  Setting setting_;
  Tally* tally_ = nullptr;
  std::vector<pid_t> workers_;
  uint32_t seeds_ = 0;
  uint32_t kills_ = 0;
  uint64_t holds_ = 0;
};

bool is_left_to_person(const base::Error& obstacle, hook::ledger::Ledger& ledger) {
  if (obstacle.code() != base::Code::kBusy) return false;
  for (const hook::ledger::PartitionRecord& record : ledger.partitions().all().take()) {
    const bool is_cut = record.kind == hook::ledger::PartitionKind::kNamed &&
                        record.state != hook::ledger::PartitionState::kReady;
    if (is_cut && obstacle.message().starts_with(str("partition ", base::quote(record.name))))
      return true;
  }
  return false;
}

TEST_F(Storm, LeavesControllerLedgerAndHostInAgreement) {
  control({"faults", kFaults});
  for (int i = 0; i < kWorkers; ++i) workers_.push_back(start_worker());
  rage(Deadline::after(kTime), Deadline::after(kTime * 4));
  control({"clear"});
  calm_down();

  // One reconcile, as the next start would do it, and the operator takes back what was kept ready.
  hook::ledger::Ledger ledger = hook::ledger::Ledger::open(setting_.ledger).take();
  hook::lifecycle::Env env = make_env(setting_, ledger);
  const auto reconciled =
      hook::lifecycle::end::reconcile(env, Deadline::after(milliseconds(240'000)));
  ASSERT_TRUE(test::succeeds(reconciled));
  // A person decides about the partitions that people named and whose requests were cut short.
  for (const base::Error& error : reconciled.value().obstacles)
    EXPECT_TRUE(is_left_to_person(error, ledger)) << error.message();
  hook::config::PoolConfig no_warm = setting_.config.pools[0];
  no_warm.warm.clear();
  const auto given_back =
      hook::lifecycle::partitions::refill(env, no_warm, Deadline::after(milliseconds(120'000)));
  ASSERT_TRUE(test::succeeds(given_back));
  for (const hook::ledger::PartitionRecord& record : ledger.partitions().all().take()) {
    EXPECT_EQ(record.kind, hook::ledger::PartitionKind::kNamed) << record.name;
    EXPECT_TRUE(test::succeeds(hook::lifecycle::partitions::remove_partition(
        env, no_warm, record.name, vipu::Force::kYes, Deadline::after(milliseconds(20'000)))));
  }

  EXPECT_EQ(ledger.live().take().size(), 0U);
  EXPECT_EQ(ledger.partitions().all().take().size(), 0U);
  EXPECT_EQ(hook::lifecycle::waiting(env).take().size(), 0U);
  const auto partitions = env.controller(no_warm)->list(Deadline::after(milliseconds(10'000)));
  ASSERT_TRUE(test::succeeds(partitions));
  for (const vipu::Partition& partition : partitions.value()) ADD_FAILURE() << partition.id;
  control({"check"});
  EXPECT_EQ(read_holders().size(), 0U);
  EXPECT_TRUE(std::filesystem::is_empty(dir_ / "run/leases"));
  const auto links =
      base::run({"/sbin/ip", {"ip", "-o", "link", "show", "type", "macvlan"}, {}, "", 1 << 20, {}},
                Deadline::after(milliseconds(10'000)));
  EXPECT_EQ(links.value().out, "");

  std::printf(
      "storm: %lu containers, %lu refused, %lu failed by faults, %lu workers died and %u"
      " were killed; %lu refills, %lu named partitions, %lu IPUs given away, none twice\n",
      tally_->started.load(), tally_->refused.load(), tally_->failed.load(),
      tally_->abandoned.load(), kills_, tally_->refilled.load(), tally_->named.load(), holds_);
  EXPECT_TRUE(has_raged_enough());
}

}  // namespace
}  // namespace storm
