// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/checkpoint.h"

#include <gtest/gtest.h>

#include "base/fs.h"
#include "base/names.h"
#include "base/process.h"
#include "base/text.h"
#include "hook/container/inject/lease_files.h"
#include "hook/container/plan/orders.h"
#include "tests/support/hook_host.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;
using base::ProcessId;

const std::string kLease(32, 'a');

// A container "web" that runs, as this process, with a lease on two interfaces of one RDMA device.
class CheckpointTest : public testing::Test {
 protected:
  void SetUp() override {
    lease_.id = kLease;
    lease_.container = "web";
    lease_.state = ledger::LeaseState::kRunning;
    lease_.owner = base::current_process().take();
    orders_.ports = {{"roce0", "mlx5_2", 1}, {"roce1", "mlx5_2", 2}};
    write_files();
    write_state(lease_.owner);
  }

  void write_files() {
    ASSERT_TRUE(test::succeeds(inject::write_lease_files(
        dir_ / "run", lease_.id, {{plan::kOrdersFile, plan::to_text(orders_)}})));
    ASSERT_TRUE(test::succeeds(inject::write_lease_record(dir_ / "run", lease_)));
  }
  void write_state(const ProcessId& init) {
    ASSERT_TRUE(test::succeeds(base::ensure_dir(dir_ / "state", 0700)));
    const std::string text =
        str(R"({"init_process_pid":)", init.pid, R"(,"init_process_start":)", init.start_time, "}");
    ASSERT_TRUE(test::succeeds(base::write_atomic(dir_ / "state/state.json", text, {})));
  }
  void overwrite(const char* name, const std::string& text) {
    const std::string path = inject::lease_dir(dir_ / "run", kLease) + "/" + name;
    ASSERT_TRUE(test::succeeds(base::write_atomic(path, text, {})));
  }
  Status check() { return check_checkpoint(dir_ / "run", "web", dir_ / "state"); }

  test::TempDir dir_;
  ledger::Lease lease_;
  plan::AttachOrders orders_;
};

TEST_F(CheckpointTest, IsRefusedWithAnRdmaDevice) {
  EXPECT_TRUE(test::fails(check(), Code::kUnsupported,
                          "container web cannot be checkpointed: it has the RDMA device mlx5_2, "));
}

TEST_F(CheckpointTest, IsRefusedAmongOtherLeases) {
  lease_.id = std::string(32, '0');
  lease_.container = "other";
  write_files();
  lease_.id = std::string(32, 'f');
  write_files();
  ASSERT_TRUE(test::succeeds(base::ensure_dir(dir_ / "run/leases/no-lease", 0711)));
  EXPECT_TRUE(test::fails(check(), Code::kUnsupported, "mlx5_2"));
}

TEST_F(CheckpointTest, IsTheRuntimesWithoutAnRdmaDevice) {
  orders_.ports.clear();
  write_files();
  EXPECT_TRUE(test::succeeds(check()));
}

TEST_F(CheckpointTest, IsTheRuntimesForEveryOtherContainer) {
  EXPECT_TRUE(test::succeeds(check_checkpoint(dir_ / "run", "other", dir_ / "state")));
  EXPECT_TRUE(test::succeeds(check_checkpoint(dir_ / "run", "", dir_ / "state")));
  EXPECT_TRUE(test::succeeds(check_checkpoint(dir_ / "none", "web", dir_ / "state")));
}

TEST_F(CheckpointTest, IsTheRuntimesForAContainerOfThatNameElsewhere) {
  EXPECT_TRUE(test::succeeds(check_checkpoint(dir_ / "run", "web", "")));
  EXPECT_TRUE(test::succeeds(check_checkpoint(dir_ / "run", "web", dir_ / "elsewhere")));
  write_state(base::identify_process(1).take());
  EXPECT_TRUE(test::succeeds(check()));
}

TEST_F(CheckpointTest, IsTheRuntimesWhereTheContainerOfTheLeaseEnded) {
  lease_.owner = test::dead_process();
  write_files();
  write_state(lease_.owner);
  EXPECT_TRUE(test::succeeds(check()));
}

TEST_F(CheckpointTest, IsTheRuntimesForALeaseThatDoesNotRunYet) {
  lease_.state = ledger::LeaseState::kAllocated;
  write_files();
  EXPECT_TRUE(test::succeeds(check()));
}

TEST_F(CheckpointTest, IsTheRuntimesInAnotherPidNamespace) {
  ++lease_.owner.pid_namespace;
  write_files();
  EXPECT_TRUE(test::succeeds(check()));
}

TEST_F(CheckpointTest, IsTheRuntimesInEveryDoubt) {
  for (const char* name : {inject::kRecordFile, plan::kOrdersFile}) {
    for (const char* text : {"", "[]", "{}", "{\"ports\":"}) {
      write_files();
      overwrite(name, text);
      EXPECT_TRUE(test::succeeds(check())) << name << ": " << text;
    }
  }
}

}  // namespace
}  // namespace hook::lifecycle::start
