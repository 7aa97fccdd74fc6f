// SPDX-License-Identifier: Apache-2.0
// What every vipu::Controller keeps, run on the fake and on the whole real chain: this process, the
// built ipu-vipu-client, gRPC, the built vipu-simulator.
#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <memory>

#include "base/text.h"
#include "tests/support/fake_controller.h"
#include "tests/support/outcome.h"
#include "tests/unit/vipu/simulator_process.h"
#include "vipu/process_controller.h"

namespace vipu {
namespace {

using base::Code;
using base::Deadline;
using base::Removed;
using std::chrono::milliseconds;

// A controller of 16 IPUs, and what a test may do behind its back.
class Rig {
 public:
  Rig() = default;
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;
  virtual ~Rig() = default;
  virtual Controller& controller() = 0;
  virtual void take_down() = 0;
};

class FakeRig final : public Rig {
 public:
  explicit FakeRig(milliseconds create_delay) { fake_.set_create_delay(create_delay); }
  Controller& controller() override { return fake_; }
  void take_down() override { fake_.set_unreachable(true); }

 private:
  test::FakeController fake_;
};

class RealRig final : public Rig {
 public:
  explicit RealRig(milliseconds create_delay)
      : simulator_(PROGRAM_DIR "/vipu-simulator",
                   {"--listen", "127.0.0.1:0", "--pod", "pod16", "--create-delay",
                    base::str(create_delay.count(), "ms")}),
        controller_(make_process_controller(
            {PROGRAM_DIR "/ipu-vipu-client", simulator_.wait_until_ready(), std::nullopt})) {}
  Controller& controller() override { return *controller_; }
  void take_down() override { EXPECT_EQ(simulator_.end(SIGTERM), 0) << simulator_.output(); }

 private:
  test::SimulatorProcess simulator_;
  std::unique_ptr<Controller> controller_;
};

struct Subject {
  const char* name;
  std::function<std::unique_ptr<Rig>(milliseconds create_delay)> make;
};

class ControllerContract : public testing::TestWithParam<Subject> {
 protected:
  void SetUp() override { use_delay(milliseconds(5)); }
  void use_delay(milliseconds create_delay) { rig_ = GetParam().make(create_delay); }
  Controller& controller() { return rig_->controller(); }
  Rig& rig() { return *rig_; }

  static Deadline soon() { return Deadline::after(milliseconds(10'000)); }
  base::Result<Grant> create(const std::string& id, uint32_t size) {
    return controller().create({id, size, false, ""}, soon());
  }

 private:
  std::unique_ptr<Rig> rig_;
};

TEST_P(ControllerContract, CreateGivesOneDeviceForEachIpu) {
  for (const uint32_t size : {1U, 2U, 4U, 8U}) {
    const base::Result<Grant> grant = create(base::str("p", size), size);
    ASSERT_TRUE(test::succeeds(grant));
    ASSERT_EQ(grant.value().gcds.size(), 1U);
    EXPECT_EQ(grant.value().gcds[0].devices.size(), size);
    EXPECT_EQ(grant.value().gcds[0].attributes.at("GCD Id"), "0");
    EXPECT_FALSE(grant.value().controller_address.empty());
  }
}

TEST_P(ControllerContract, CreatedPartitionIsActiveAndListedAndReadsBackTheSame) {
  const base::Result<Grant> grant = create("p0", 4);
  ASSERT_TRUE(test::succeeds(grant));
  const base::Result<PartitionStatus> status = controller().status("p0", soon());
  ASSERT_TRUE(test::succeeds(status));
  EXPECT_EQ(status.value().ready, ReadyState::kActive);
  const auto config = controller().config("p0", soon());
  ASSERT_TRUE(test::succeeds(config));
  EXPECT_EQ(config.value(), grant.value().gcds);
  const auto list = controller().list(soon());
  ASSERT_TRUE(test::succeeds(list));
  ASSERT_EQ(list.value().size(), 1U);
  EXPECT_EQ(list.value()[0].id, "p0");
  EXPECT_EQ(list.value()[0].ipus.size(), 4U);
  EXPECT_EQ(list.value()[0].ready, ReadyState::kActive);
}

TEST_P(ControllerContract, ANameIsTakenOnlyOnce) {
  ASSERT_TRUE(test::succeeds(create("p0", 4)));
  EXPECT_TRUE(test::fails(create("p0", 4), Code::kExists, "p0"));
}

TEST_P(ControllerContract, WithoutAFreeBlockItIsBusy) {
  ASSERT_TRUE(test::succeeds(create("p0", 16)));
  EXPECT_TRUE(test::fails(create("p1", 1), Code::kBusy, "no free block of 1 IPUs"));
}

TEST_P(ControllerContract, SizesThatNoPartitionCanHaveAreInvalid) {
  for (const uint32_t size : {0U, 3U, 32U}) {
    EXPECT_TRUE(test::fails(create("p0", size), Code::kInvalid, base::str("size ", size)));
  }
  EXPECT_TRUE(controller().list(soon()).take().empty());
}

TEST_P(ControllerContract, RemoveSaysWhetherThereWasOne) {
  ASSERT_TRUE(test::succeeds(create("p0", 4)));
  const base::Result<Removed> first = controller().remove("p0", soon());
  ASSERT_TRUE(test::succeeds(first));
  EXPECT_EQ(first.value(), Removed::kNow);
  EXPECT_TRUE(controller().list(soon()).take().empty());
  const base::Result<Removed> second = controller().remove("p0", soon());
  ASSERT_TRUE(test::succeeds(second));
  EXPECT_EQ(second.value(), Removed::kWasAbsent);
}

TEST_P(ControllerContract, RemovedIpusCanBeHadAgain) {
  ASSERT_TRUE(test::succeeds(create("p0", 16)));
  ASSERT_TRUE(test::succeeds(controller().remove("p0", soon())));
  EXPECT_TRUE(test::succeeds(create("p1", 16)));
}

TEST_P(ControllerContract, WhatIsNotThereIsNotFound) {
  EXPECT_TRUE(test::fails(controller().status("p0", soon()), Code::kNotFound, "p0"));
  EXPECT_TRUE(test::fails(controller().config("p0", soon()), Code::kNotFound, "p0"));
}

TEST_P(ControllerContract, CapacityFollowsThePartitions) {
  ASSERT_TRUE(test::succeeds(create("p0", 4)));
  const base::Result<Capacity> capacity = controller().capacity(soon());
  ASSERT_TRUE(test::succeeds(capacity));
  EXPECT_EQ(capacity.value().total, 16U);
  EXPECT_EQ(capacity.value().used, 4U);
  EXPECT_EQ(capacity.value().largest_free, 8U);
}

TEST_P(ControllerContract, HasAVersion) {
  const base::Result<std::string> version = controller().version(soon());
  ASSERT_TRUE(test::succeeds(version));
  EXPECT_FALSE(version.value().empty());
}

TEST_P(ControllerContract, ADeadControllerIsUnavailableAndSaysSoQuickly) {
  rig().take_down();
  const Deadline patience = Deadline::after(milliseconds(5000));
  EXPECT_TRUE(test::fails(create("p0", 4), Code::kUnavailable));
  EXPECT_TRUE(test::fails(controller().list(soon()), Code::kUnavailable, "list"));
  EXPECT_TRUE(test::fails(controller().remove("p0", soon()), Code::kUnavailable, "remove"));
  EXPECT_FALSE(patience.passed());
}

TEST_P(ControllerContract, ACreateThatTakesTooLongTimesOutAndCanBeRemoved) {
  use_delay(milliseconds(3'600'000));
  const Deadline deadline = Deadline::after(milliseconds(1500));
  EXPECT_TRUE(
      test::fails(controller().create({"p0", 4, false, ""}, deadline), Code::kTimeout, "p0"));
  EXPECT_EQ(controller().status("p0", soon()).take().ready, ReadyState::kPending);
  EXPECT_TRUE(test::fails(controller().config("p0", soon()), Code::kNotFound));
  EXPECT_EQ(controller().capacity(soon()).take().used, 4U);
  EXPECT_EQ(controller().remove("p0", soon()).take(), Removed::kNow);
  EXPECT_EQ(controller().capacity(soon()).take().used, 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Implementations, ControllerContract,
    testing::Values(
        Subject{"Fake", [](milliseconds delay) { return std::make_unique<FakeRig>(delay); }},
        Subject{"Real", [](milliseconds delay) { return std::make_unique<RealRig>(delay); }}),
    [](const testing::TestParamInfo<Subject>& param) { return std::string(param.param.name); });

TEST(FakeControllerTest, FailsTheNextCallBeforeOrAfterItsEffect) {
  test::FakeController fake;
  const Deadline deadline = Deadline::after(milliseconds(10'000));
  fake.fail_next({Code::kInternal, "before"});
  EXPECT_TRUE(test::fails(fake.create({"p0", 4, false, ""}, deadline), Code::kInternal, "before"));
  EXPECT_TRUE(fake.list(deadline).take().empty());
  fake.fail_next({Code::kInternal, "after"}, test::FakeController::When::kAfter);
  EXPECT_TRUE(test::fails(fake.create({"p0", 4, false, ""}, deadline), Code::kInternal, "after"));
  EXPECT_EQ(fake.list(deadline).take().size(), 1U);
}

}  // namespace
}  // namespace vipu
