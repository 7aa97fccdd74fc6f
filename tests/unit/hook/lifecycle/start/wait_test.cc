// SPDX-License-Identifier: Apache-2.0
// A start that waits for IPUs: until there is room, and until the controller is there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/names.h"
#include "hook/lifecycle/end/release.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "hook/lifecycle/start/create.h"
#include "tests/support/hook_host.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;
using When = test::FakeController::When;

class WaitTest : public testing::Test {
 protected:
  Status start_with_wait(std::chrono::milliseconds wait) {
    inject::Bundle bundle = host_.make_bundle("web");
    return prepare_container(host_.env, host_.config, {8, false, wait, ""}, "web",
                             oci::parse_spec(bundle.config()).take(), bundle);
  }

  // Makes partition "p0", and starts a container that asks for it. The first wait for it to be
  // ACTIVE has no answer. If WHEN says so, the controller is there, and no wait has one.
  Status start_with_named(std::chrono::milliseconds wait, When when = When::kAfterAndLeave) {
    partitions::NewPartition made;
    made.pool = host_.config.pools[0];
    made.request.id = "p0";
    made.request.size = 8;
    EXPECT_TRUE(
        test::succeeds(partitions::create_partition(host_.env, made, test::HookHost::soon())));
    host_.before_wait = [&] {
      host_.controller.set_unreachable(false);
      if (++waits_ == 1 || when == When::kBefore)
        host_.controller.fail_next(Error(Code::kTimeout, "no answer"), when);
    };
    request::Request request;
    request.partition = "p0";
    request.wait = wait;
    return host_.prepare("web", request);
  }

  test::HookHost host_;
  int creates_ = 0;
  int waits_ = 0;
};

TEST_F(WaitTest, GetsThePartitionOnceThereIsRoom) {
  ASSERT_TRUE(host_.controller.create({"of-others", 16, false, ""}, test::HookHost::soon()).ok());
  host_.before_create = [&] {
    if (++creates_ == 2)
      (void)host_.controller.remove("of-others", vipu::Force::kNo, test::HookHost::soon());
  };
  EXPECT_TRUE(test::succeeds(start_with_wait(std::chrono::seconds(30))));
  EXPECT_EQ(creates_, 2);
  EXPECT_EQ(host_.lease_of("web").state, ledger::LeaseState::kAllocated);
}

TEST_F(WaitTest, IsOneEventWithASummary) {
  ASSERT_TRUE(host_.controller.create({"of-others", 16, false, ""}, test::HookHost::soon()).ok());
  host_.before_create = [&] {
    if (++creates_ == 3)
      (void)host_.controller.remove("of-others", vipu::Force::kNo, test::HookHost::soon());
  };
  EXPECT_TRUE(test::succeeds(start_with_wait(std::chrono::seconds(30))));
  std::vector<std::string> creates;
  std::vector<std::string> summaries;
  for (const ledger::Event& event :
       host_.ledger.events().of_lease(host_.lease_of("web").id).take()) {
    if (event.text.starts_with("create ")) creates.push_back(event.text);
    if (event.kind == ledger::EventKind::kNote) summaries.push_back(event.text);
  }
  EXPECT_EQ(creates.size(), 2U) << "the first refusal, and the success";
  EXPECT_THAT(summaries, testing::ElementsAre(
                             testing::AllOf(testing::StartsWith("got its IPUs after "),
                                            testing::EndsWith(", in which it asked 3 times"))));
}

TEST_F(WaitTest, IsNotAdvisedToWait) {
  ASSERT_TRUE(host_.controller.create({"of-others", 16, false, ""}, test::HookHost::soon()).ok());
  const Status full = start_with_wait(std::chrono::milliseconds(50));
  ASSERT_TRUE(test::fails(full, Code::kBusy, "; see 'ipuctl ps' for who has them"));
  EXPECT_THAT(full.error().message(), testing::Not(testing::HasSubstr("IPU_WAIT")));
}

TEST_F(WaitTest, EndsWhenItsPlaceIsTakenAway) {
  ASSERT_TRUE(host_.controller.create({"of-others", 16, false, ""}, test::HookHost::soon()).ok());
  host_.before_create = [&] {
    if (++creates_ != 2) return;
    for (const ledger::Waiter& waiter : host_.ledger.queue().list().take())
      (void)host_.ledger.queue().leave(waiter.ticket);
  };
  EXPECT_TRUE(test::fails(start_with_wait(std::chrono::seconds(30)), Code::kBusy,
                          "was cancelled with 'ipuctl queue cancel'"));
  EXPECT_EQ(host_.lease_of("web").state, ledger::LeaseState::kFailed);
}

// The first request has no place in the queue: nobody is ahead, and the controller is asked.
TEST_F(WaitTest, EndsWhenItIsCancelledWhileTheControllerIsAsked) {
  host_.before_create = [&] {
    const std::vector<ledger::Lease> starts = host_.ledger.queue().starts().take();
    ASSERT_EQ(starts.size(), 1U);
    EXPECT_TRUE(host_.ledger.queue().list().take().empty());
    EXPECT_EQ(host_.ledger.queue().cancel(starts[0]).take(), base::Removed::kNow);
    EXPECT_EQ(host_.ledger.queue().cancel(starts[0]).take(), base::Removed::kWasAbsent);
  };
  EXPECT_TRUE(test::fails(start_with_wait(std::chrono::seconds(30)), Code::kBusy,
                          "was cancelled with 'ipuctl queue cancel'"));
  EXPECT_EQ(host_.lease_of("web").state, ledger::LeaseState::kFailed);
  EXPECT_TRUE(host_.partitions().empty());
}

TEST_F(WaitTest, EndsWhenItIsCancelledWhileTheControllerIsAway) {
  host_.before_create = [&] {
    host_.controller.set_unreachable(true);
    for (const ledger::Lease& lease : host_.ledger.queue().starts().take())
      (void)host_.ledger.queue().cancel(lease);
  };
  EXPECT_TRUE(test::fails(start_with_wait(std::chrono::seconds(30)), Code::kBusy, "was cancelled"));
}

TEST_F(WaitTest, EndsWhenItIsCancelledWhileTheEndpointsAnswersAreAskedFor) {
  int asked = 0;
  host_.before_version = [&] {
    host_.controller.set_unreachable(++asked == 1);
    for (const ledger::Lease& lease : host_.ledger.queue().starts().take())
      EXPECT_EQ(host_.ledger.queue().cancel(lease).take(), base::Removed::kNow);
  };
  request::Request request{8, false, std::chrono::seconds(30), ""};
  request.vipu_endpoint = true;
  inject::Bundle bundle = host_.make_bundle("web");
  const Status started = prepare_container(host_.env, host_.config, request, "web",
                                           oci::parse_spec(bundle.config()).take(), bundle);
  EXPECT_TRUE(test::fails(started, Code::kBusy, "was cancelled"));
  EXPECT_EQ(asked, 1);
  host_.controller.set_unreachable(false);
  ASSERT_TRUE(test::succeeds(end::reconcile(host_.env, test::HookHost::soon())));
  EXPECT_TRUE(host_.is_empty());
}

// Its place is taken away in the moment in which it is served.
TEST_F(WaitTest, GivesItsIpusBackIfItsPlaceWasTakenAway) {
  ASSERT_TRUE(host_.controller.create({"of-others", 16, false, ""}, test::HookHost::soon()).ok());
  host_.before_create = [&] {
    if (++creates_ != 2) return;
    (void)host_.controller.remove("of-others", vipu::Force::kNo, test::HookHost::soon());
    for (const ledger::Waiter& waiter : host_.ledger.queue().list().take())
      (void)host_.ledger.queue().leave(waiter.ticket);
  };
  EXPECT_TRUE(test::fails(start_with_wait(std::chrono::seconds(30)), Code::kBusy, "was cancelled"));
  EXPECT_EQ(host_.lease_of("web").state, ledger::LeaseState::kFailed);
  EXPECT_TRUE(host_.partitions().empty());
}

TEST_F(WaitTest, CannotBeCancelledOnceItHasItsIpus) {
  ASSERT_TRUE(test::succeeds(start_with_wait(std::chrono::seconds(30))));
  EXPECT_TRUE(host_.ledger.queue().starts().take().empty());
  EXPECT_EQ(host_.ledger.queue().cancel(host_.lease_of("web")).take(), base::Removed::kWasAbsent);
}

TEST_F(WaitTest, GetsWhatADeadContainerHeld) {
  ledger::Lease holder = host_.start("a", 16);
  host_.before_create = [&] {
    if (++creates_ == 1) (void)host_.ledger.mark_running(holder, test::dead_process());
  };
  EXPECT_TRUE(test::succeeds(start_with_wait(std::chrono::seconds(30))));
  EXPECT_EQ(host_.stored(holder).state, ledger::LeaseState::kQuarantine);
}

TEST_F(WaitTest, OutlastsAControllerThatIsAway) {
  host_.before_create = [&] { host_.controller.set_unreachable(++creates_ == 1); };
  EXPECT_TRUE(test::succeeds(start_with_wait(std::chrono::seconds(30))));
  EXPECT_EQ(creates_, 2);
  EXPECT_EQ(host_.lease_of("web").state, ledger::LeaseState::kAllocated);
}

TEST_F(WaitTest, OutlastsAControllerThatDoesNotAnswerForANamedPartition) {
  EXPECT_TRUE(test::succeeds(start_with_named(std::chrono::seconds(30))));
  EXPECT_EQ(waits_, 2);
  EXPECT_EQ(host_.lease_of("web").partition, "p0");
}

TEST_F(WaitTest, DoesNotOutlastASilentControllerWithoutBeingTold) {
  EXPECT_TRUE(
      test::fails(start_with_named(std::chrono::milliseconds(0)), Code::kTimeout, "no answer"));
  EXPECT_EQ(waits_, 1);
}

// Otherwise each attempt would reset the partition again.
TEST_F(WaitTest, DoesNotOutlastANamedPartitionOfAControllerThatAnswers) {
  EXPECT_TRUE(test::fails(start_with_named(std::chrono::seconds(30), When::kBefore),
                          Code::kInternal, "no answer"));
  EXPECT_EQ(waits_, 2) << "it may have come back after the first";
}

// The time of a new partition is that of the pool, however long the request waits for room.
TEST_F(WaitTest, DoesNotOutlastAPartitionThatDoesNotBecomeActive) {
  host_.before_wait = [&] {
    ++waits_;
    host_.controller.fail_next(Error(Code::kTimeout, "it is still PENDING"));
  };
  EXPECT_TRUE(test::fails(start_with_wait(std::chrono::seconds(30)), Code::kTimeout, "PENDING"));
  EXPECT_EQ(waits_, 1);
}

TEST_F(WaitTest, TellsAtOnceWhyItWaitsForItsController) {
  std::vector<std::string> told;
  host_.before_create = [&] {
    host_.controller.set_unreachable(++creates_ <= 2);
    if (creates_ != 3) return;
    ledger::Ledger other = ledger::Ledger::open(host_.dir / "state/ledger.db").take();
    for (const ledger::Event& event : other.events().of_lease(host_.lease_of("web").id).take()) {
      if (event.kind == ledger::EventKind::kNote) told.push_back(event.text);
    }
  };
  EXPECT_TRUE(test::succeeds(start_with_wait(std::chrono::seconds(30))));
  EXPECT_THAT(told, testing::ElementsAre(testing::StartsWith("waits for the controller: ")));
}

TEST_F(WaitTest, AsksAgainIfTheAnswerOfTheControllerWasLost) {
  host_.before_create = [&] {
    if (++creates_ == 1)
      host_.controller.fail_next(Error(Code::kTimeout, "no answer"), When::kAfter);
  };
  EXPECT_TRUE(test::succeeds(start_with_wait(std::chrono::seconds(30))));
  EXPECT_EQ(creates_, 2);
  EXPECT_EQ(host_.controller.list(test::HookHost::soon()).take().size(), 1U);
}

TEST_F(WaitTest, OutlastsAControllerThatGoesAwayBeforeThePartitionIsActive) {
  int waits = 0;
  host_.before_create = [&] { ++creates_; };
  host_.before_wait = [&] { host_.controller.set_unreachable(++waits == 1); };
  EXPECT_TRUE(test::succeeds(start_with_wait(std::chrono::seconds(30))));
  EXPECT_EQ(creates_, 1);
  EXPECT_EQ(waits, 2);
  EXPECT_EQ(host_.lease_of("web").state, ledger::LeaseState::kAllocated);
}

// What the controller carried out unseen must be removed once it is back.
TEST_F(WaitTest, DoesNotForgetWhatALostRequestMadeIfTheControllerStaysAway) {
  host_.before_create = [&] {
    if (++creates_ == 1)
      host_.controller.fail_next(Error(Code::kTimeout, "no answer"), When::kAfterAndLeave);
  };
  EXPECT_TRUE(test::fails(start_with_wait(std::chrono::milliseconds(2000)), Code::kInternal));
  host_.controller.set_unreachable(false);
  ASSERT_EQ(host_.controller.list(test::HookHost::soon()).take().size(), 1U);
  EXPECT_TRUE(test::succeeds(end::reconcile(host_.env, test::HookHost::soon())));
  EXPECT_TRUE(host_.controller.list(test::HookHost::soon()).take().empty());
}

// An attempt that the controller answered oddly may have been carried out all the same.
TEST_F(WaitTest, TakesAPartitionOfItsNameForItsOwn) {
  ASSERT_TRUE(host_.controller.create({"of-others", 16, false, ""}, test::HookHost::soon()).ok());
  host_.before_create = [&] {
    if (++creates_ != 2) return;
    (void)host_.controller.remove("of-others", vipu::Force::kNo, test::HookHost::soon());
    const std::string name = host_.ledger.get("web").take().partition;
    ASSERT_TRUE(host_.controller.create({name, 8, false, ""}, test::HookHost::soon()).ok());
  };
  EXPECT_TRUE(test::succeeds(start_with_wait(std::chrono::seconds(30))));
  EXPECT_EQ(creates_, 3);
  EXPECT_EQ(host_.controller.list(test::HookHost::soon()).take().size(), 1U);
}

TEST_F(WaitTest, RemovesNothingWhileThePoolIsOnlyFull) {
  ASSERT_TRUE(host_.controller.create({"of-others", 16, false, ""}, test::HookHost::soon()).ok());
  host_.before_create = [&] {
    if (++creates_ == 2)
      (void)host_.controller.remove("of-others", vipu::Force::kNo, test::HookHost::soon());
  };
  ASSERT_TRUE(test::succeeds(start_with_wait(std::chrono::seconds(30))));
  EXPECT_EQ(host_.controller.removals(), 1) << "that of the test";
}

TEST_F(WaitTest, EndsWithTheErrorOfAControllerThatStaysAway) {
  host_.before_create = [&] { host_.controller.set_unreachable(true); };
  EXPECT_TRUE(test::fails(start_with_wait(std::chrono::milliseconds(1)), Code::kUnavailable,
                          "fake controller: submit: down"));
}

TEST_F(WaitTest, EndsWithTheSameLineAsWithoutWaiting) {
  host_.start("a", 16);
  host_.before_create = [&] { ++creates_; };
  EXPECT_TRUE(test::fails(start_with_wait(std::chrono::milliseconds(1)), Code::kBusy,
                          "pool \"pod16\" has no free block of 8 IPUs"));
  EXPECT_GE(creates_, 1);
  EXPECT_EQ(host_.live_leases(), 1U);
}

}  // namespace
}  // namespace hook::lifecycle::start
