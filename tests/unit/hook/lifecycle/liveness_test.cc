// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/liveness.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace hook::lifecycle {
namespace {

using base::Code;
using base::ProcessId;

constexpr ledger::LeaseState kBefore[] = {
    ledger::LeaseState::kIntent, ledger::LeaseState::kAllocated, ledger::LeaseState::kReleasing};
constexpr Seen kAllSeen[] = {Seen::kYes, Seen::kNo, Seen::kHidden};
const ProcessId kOther{99, 5, 1};

ledger::Lease lease_in(ledger::LeaseState state) {
  ledger::Lease lease;
  lease.state = state;
  lease.owner = {12, 3, 1};
  lease.cgroup = "/devices/docker/web";
  return lease;
}

Life life(ledger::LeaseState state, const Evidence& evidence) {
  return judge(lease_in(state), evidence).life;
}

TEST(Judgement, IsEndForEveryLeaseOfAnotherBoot) {
  for (const Seen seen : kAllSeen) {
    for (const ledger::LeaseState state :
         {kBefore[0], kBefore[1], kBefore[2], ledger::LeaseState::kRunning}) {
      EXPECT_EQ(life(state, {false, true, seen, seen, kOther}), Life::kEnded);
      EXPECT_EQ(life(state, {false, false, seen, seen, kOther}), Life::kEnded);
    }
  }
}

TEST(Judgement, IsByTheOwnerAloneWhereNoContainerRan) {
  for (const ledger::LeaseState state : kBefore) {
    for (const Seen others : kAllSeen) {
      EXPECT_EQ(life(state, {true, true, Seen::kYes, others, {}}), Life::kRuns);
      EXPECT_EQ(life(state, {true, true, Seen::kNo, others, {}}), Life::kEnded);
      EXPECT_EQ(life(state, {true, true, Seen::kHidden, others, {}}), Life::kUnknown);
      EXPECT_EQ(life(state, {true, false, Seen::kHidden, others, {}}), Life::kUnknown);
    }
  }
}

// Of a container: by its first process, then by the others, then by the runtime's record.
struct Row {
  bool same_pid_namespace;
  Seen owner;
  Seen others;
  bool restored;
  Life life;
  bool adopted;
};

TEST(Judgement, OfAContainerTakesAnySignOfLife) {
  const Row rows[] = {
      {true, Seen::kYes, Seen::kNo, false, Life::kRuns, false},
      {true, Seen::kYes, Seen::kYes, true, Life::kRuns, false},
      {true, Seen::kNo, Seen::kNo, false, Life::kEnded, false},
      {true, Seen::kNo, Seen::kYes, false, Life::kRuns, false},
      {true, Seen::kNo, Seen::kHidden, false, Life::kUnknown, false},
      {true, Seen::kNo, Seen::kNo, true, Life::kRuns, true},
      {true, Seen::kNo, Seen::kYes, true, Life::kRuns, true},
      {true, Seen::kNo, Seen::kHidden, true, Life::kRuns, true},
      {true, Seen::kHidden, Seen::kNo, false, Life::kUnknown, false},
      {true, Seen::kHidden, Seen::kYes, true, Life::kUnknown, false},
      {false, Seen::kHidden, Seen::kNo, false, Life::kUnknown, false},
      {false, Seen::kHidden, Seen::kHidden, false, Life::kUnknown, false},
      {false, Seen::kHidden, Seen::kYes, false, Life::kRuns, false},
      {false, Seen::kHidden, Seen::kNo, true, Life::kRuns, false},
  };
  for (const Row& row : rows) {
    const size_t number = static_cast<size_t>(&row - rows);
    Evidence evidence{true, row.same_pid_namespace, row.owner, row.others, {}};
    if (row.restored) evidence.restored = kOther;
    const Judgement judgement = judge(lease_in(ledger::LeaseState::kRunning), evidence);
    EXPECT_EQ(judgement.life, row.life) << "row " << number;
    EXPECT_EQ(judgement.successor.has_value(), row.adopted) << "row " << number;
  }
}

TEST(Judgement, SaysWhyInWords) {
  const ledger::Lease running = lease_in(ledger::LeaseState::kRunning);
  EXPECT_EQ(judge(running, {}).because, "process 12, the container's first process, ended");
  EXPECT_EQ(judge(running, {true, true, Seen::kNo, Seen::kYes, {}}).because,
            "process 12, the container's first process, ended, but other processes of cgroup"
            " /devices/docker/web run");
  EXPECT_EQ(judge(lease_in(ledger::LeaseState::kIntent), {}).because,
            "process 12, which was starting the container, ended");
  EXPECT_EQ(judge(running, {true, false, Seen::kHidden, Seen::kNo, {}}).because,
            "process 12, the container's first process, is in another pid namespace");
}

class RuntimeRecordTest : public testing::Test {
 protected:
  void write(const char* name, const std::string& text) {
    ASSERT_TRUE(test::succeeds(base::write_atomic(dir_ / name, text, {})));
  }
  test::TempDir dir_;
};

TEST_F(RuntimeRecordTest, IsReadAsRuncWritesIt) {
  write("state.json", R"({"id":"web","init_process_pid":4711,"init_process_start":123456,
                          "config":{"rootfs":"/x"}})");
  EXPECT_EQ(recorded_init(dir_.path()).value(), (ProcessId{4711, 123456, 0}));
}

TEST_F(RuntimeRecordTest, IsReadAsCrunWritesIt) {
  write("status", R"({"pid":4711,"process-start-time":123456,"cgroup-path":"/x"})");
  EXPECT_EQ(recorded_init(dir_.path()).value(), (ProcessId{4711, 123456, 0}));
}

TEST_F(RuntimeRecordTest, IsNotThereWithoutAFile) {
  EXPECT_TRUE(test::fails(recorded_init(dir_.path()), Code::kNotFound));
  EXPECT_TRUE(test::fails(recorded_init(dir_ / "absent"), Code::kNotFound));
}

TEST_F(RuntimeRecordTest, IsRefusedWhereItNamesNoProcess) {
  for (const char* text :
       {"", "[]", "{}", R"({"init_process_pid":0,"init_process_start":1})",
        R"({"init_process_pid":-1,"init_process_start":1})",
        R"({"init_process_pid":1,"init_process_start":0})",
        R"({"init_process_pid":4294967297,"init_process_start":1})",
        R"({"init_process_pid":"1","init_process_start":1})", R"({"init_process_pid":1})"}) {
    write("state.json", text);
    EXPECT_FALSE(recorded_init(dir_.path()).ok()) << text;
  }
}

TEST_F(RuntimeRecordTest, IsNeverALinkAPipeOrEndless) {
  write("elsewhere", R"({"init_process_pid":4711,"init_process_start":1})");
  ASSERT_EQ(::symlink("elsewhere", (dir_ / "state.json").c_str()), 0);
  EXPECT_FALSE(recorded_init(dir_.path()).ok());
  ASSERT_EQ(::unlink((dir_ / "state.json").c_str()), 0);
  ASSERT_EQ(::mkfifo((dir_ / "state.json").c_str(), 0600), 0);
  EXPECT_FALSE(recorded_init(dir_.path()).ok());
  write("state.json", std::string(9 << 20, ' '));
  EXPECT_FALSE(recorded_init(dir_.path()).ok());
}

}  // namespace
}  // namespace hook::lifecycle
