// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/reserve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/clock.h"
#include "base/names.h"
#include "hook/lifecycle/end/release.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "hook/lifecycle/start/shortage_text.h"
#include "tests/support/hook_host.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;
using std::chrono::milliseconds;
using When = test::FakeController::When;

class ReserveTest : public testing::Test {
 protected:
  Status reserve_ipus(uint32_t ipus, milliseconds wait = milliseconds(0),
                      milliseconds time = milliseconds(0)) {
    return reserve(host_.env, host_.config, host_.config.pools[0],
                   {"night", ipus, wait, time, "alice"});
  }
  Result<request::Request> resolve(const std::string& name, bool is_reservation = true) {
    request::Request request;
    request.partition = name;
    request.is_reservation = is_reservation;
    return resolve_reservation(host_.env, request);
  }
  std::optional<ledger::PartitionRecord> record() {
    for (const ledger::PartitionRecord& each : host_.ledger.partitions().all().take()) {
      if (each.reservation == "night") return each;
    }
    return std::nullopt;
  }
  void fill() {
    ASSERT_TRUE(host_.controller.create({"of-others", 16, false, ""}, test::HookHost::soon()).ok());
  }
  // The controller is there again as soon as the request waits.
  void come_back() {
    host_.env.still_wanted = [&] {
      host_.controller.set_unreachable(false);
      return Status();
    };
  }
  size_t partitions() { return host_.controller.list(test::HookHost::soon()).take().size(); }

  test::HookHost host_;
  int creates_ = 0;
};

TEST_F(ReserveTest, KeepsAReadyPartitionUntilItsEnd) {
  const int64_t before = base::unix_millis();
  ASSERT_TRUE(test::succeeds(reserve_ipus(8, milliseconds(0), milliseconds(60'000))));
  ASSERT_TRUE(record().has_value());
  EXPECT_TRUE(ledger::is_reserved_name(record()->name)) << record()->name;
  EXPECT_EQ(record()->reserved_for, "alice");
  EXPECT_GE(record()->until_ms, before + 60'000);
  EXPECT_FALSE(ledger::has_ended(*record(), base::unix_millis()));
  EXPECT_EQ(resolve("night").take().pool, "pod16");
  EXPECT_TRUE(
      test::fails(reserve_ipus(8), Code::kExists, "there is a reservation 'night' already"));
  EXPECT_EQ(partitions(), 1U);
}

TEST_F(ReserveTest, WaitsForRoomInTheQueue) {
  fill();
  std::string waiter;
  host_.before_create = [&] {
    if (++creates_ != 2) return;
    waiter = host_.ledger.queue().list().take().front().container;
    (void)host_.controller.remove("of-others", vipu::Force::kNo, test::HookHost::soon());
  };
  EXPECT_TRUE(test::succeeds(reserve_ipus(16, milliseconds(30'000))));
  EXPECT_EQ(waiter, "reservation night");
  EXPECT_TRUE(host_.ledger.queue().list().take().empty());
}

TEST_F(ReserveTest, OutlastsAControllerThatIsAway) {
  host_.before_create = [&] { host_.controller.set_unreachable(++creates_ == 1); };
  come_back();
  EXPECT_TRUE(test::succeeds(reserve_ipus(16, milliseconds(30'000))));
  EXPECT_EQ(partitions(), 1U);
}

TEST_F(ReserveTest, AsksAgainIfTheAnswerWasLost) {
  host_.before_create = [&] {
    if (++creates_ == 1)
      host_.controller.fail_next(Error(Code::kTimeout, "no answer"), When::kAfterAndLeave);
  };
  come_back();
  EXPECT_TRUE(test::succeeds(reserve_ipus(16, milliseconds(30'000))));
  EXPECT_EQ(partitions(), 1U);
}

TEST_F(ReserveTest, LeavesNothingIfThereIsNoRoom) {
  fill();
  EXPECT_TRUE(test::fails(reserve_ipus(8), Code::kBusy, "wait with --wait 5m"));
  EXPECT_FALSE(record().has_value());
  EXPECT_TRUE(test::fails(reserve_ipus(8, milliseconds(50)), Code::kBusy, "for who has them"));
  EXPECT_FALSE(record().has_value());
  EXPECT_EQ(partitions(), 1U);
}

TEST_F(ReserveTest, EndsWhenNobodyWantsItAnyMore) {
  fill();
  host_.env.still_wanted = [&] {
    return creates_ == 0 ? Status() : Status(Error(Code::kBusy, "interrupted"));
  };
  host_.before_create = [&] { ++creates_; };
  EXPECT_TRUE(test::fails(reserve_ipus(8, milliseconds(30'000)), Code::kBusy, "interrupted"));
  EXPECT_FALSE(record().has_value());
  EXPECT_TRUE(host_.ledger.queue().list().take().empty());
}

TEST_F(ReserveTest, IsReleasedAfterItsEndUnlessAContainerHasIt) {
  ASSERT_TRUE(test::succeeds(reserve_ipus(8, milliseconds(0), milliseconds(60'000))));
  request::Request request;
  request.partition = "night";
  request.is_reservation = true;
  ASSERT_TRUE(test::succeeds(host_.prepare("web", request)));
  ASSERT_TRUE(test::succeeds(host_.ledger.partitions().set_end(*record(), 1)));
  const Status later = host_.prepare("later", request);
  EXPECT_TRUE(test::fails(later, Code::kDenied, "reservation 'night' ended at"));
  request.is_reservation = false;
  request.partition = record()->name;
  EXPECT_TRUE(test::fails(host_.prepare("later", request), Code::kDenied, "ended at"));
  EXPECT_TRUE(test::succeeds(end::reconcile(host_.env, test::HookHost::soon())));
  EXPECT_TRUE(record().has_value());
  ASSERT_TRUE(test::succeeds(
      end::release_by_id(host_.env, host_.lease_of("web").id, test::HookHost::soon())));
  EXPECT_TRUE(test::succeeds(end::reconcile(host_.env, test::HookHost::soon())));
  EXPECT_FALSE(record().has_value());
  EXPECT_EQ(partitions(), 0U);
}

TEST_F(ReserveTest, GivesWayToAStartOnceItHasEnded) {
  ASSERT_TRUE(test::succeeds(reserve_ipus(16, milliseconds(0), milliseconds(60'000))));
  EXPECT_TRUE(test::fails(host_.prepare("early", 16), Code::kBusy, "no free block"));
  ASSERT_TRUE(test::succeeds(host_.ledger.partitions().set_end(*record(), 1)));
  EXPECT_TRUE(test::succeeds(host_.prepare("web", 16)));
}

TEST_F(ReserveTest, IsNotRemovedIfItWasExtendedInTheLastMoment) {
  ASSERT_TRUE(test::succeeds(reserve_ipus(8, milliseconds(0), milliseconds(60'000))));
  ASSERT_TRUE(test::succeeds(host_.ledger.partitions().set_end(*record(), 1)));
  ledger::PartitionRecord seen = *record();  // by gc
  ASSERT_TRUE(test::succeeds(
      host_.ledger.partitions().set_end(seen, base::unix_millis() + int64_t{60'000})));
  const base::ProcessId self = base::current_process().take();
  EXPECT_TRUE(test::fails(host_.ledger.partitions().begin_removal(seen, self, vipu::Force::kNo),
                          Code::kBusy, "changed by another process"));
  EXPECT_TRUE(test::succeeds(end::reconcile(host_.env, test::HookHost::soon())));
  EXPECT_TRUE(record().has_value());
}

TEST_F(ReserveTest, RefusesWhatNoPoolCanServeByTheNamesOfItsOptions) {
  const auto check = [](const std::string& name, uint32_t ipus, uint32_t gcds = 1) {
    ReservationRequest request;
    request.name = name;
    request.ipus = ipus;
    request.gcds = gcds;
    return check_reservation(request);
  };
  EXPECT_TRUE(test::succeeds(check("night", 1)));
  EXPECT_TRUE(test::succeeds(check("night", 4, 2)));
  EXPECT_TRUE(test::fails(check("a b", 4), Code::kInvalid, "'a b' is not a valid name"));
  EXPECT_TRUE(test::fails(check("night", 0), Code::kInvalid, "with --ipus"));
  EXPECT_TRUE(test::fails(check("night", 12), Code::kInvalid,
                          "--ipus 12 is not a power of two; give 8 or 16"));
  EXPECT_TRUE(test::fails(check("night", 4, 3), Code::kInvalid,
                          "3 GCDs cannot share 4 IPUs evenly; change --gcds or --ipus"));
  EXPECT_TRUE(test::fails(reserve_ipus(12), Code::kInvalid, "--ipus 12"));
  EXPECT_EQ(partitions(), 0U);
}

TEST_F(ReserveTest, GivesUpAtOnceIfAnotherHasTakenItsNameMeanwhile) {
  fill();
  host_.env.still_wanted = [&] {
    ledger::PartitionRecord other;
    other.pool = "pod16";
    other.name = "r-0123456789ab";
    other.reservation = "night";
    (void)host_.ledger.partitions().intend(other);
    (void)host_.ledger.partitions().mark_ready(other);
    return Status();
  };
  EXPECT_TRUE(test::fails(reserve_ipus(8, milliseconds(30'000)), Code::kExists,
                          "there is a reservation 'night' already"));
  EXPECT_TRUE(host_.ledger.queue().list().take().empty());
}

// The controller carries a request out after it has said that there is nothing to remove.
TEST_F(ReserveTest, LooksAgainForWhatALostRequestMayStillMake) {
  host_.before_create = [&] {
    if (++creates_ == 1) host_.controller.fail_next(Error(Code::kTimeout, "no answer"));
  };
  EXPECT_TRUE(test::fails(reserve_ipus(8), Code::kTimeout, "no answer"));
  ASSERT_TRUE(record().has_value());
  const std::string name = record()->name;
  ASSERT_TRUE(host_.controller.create({name, 8, false, ""}, test::HookHost::soon()).ok());
  EXPECT_TRUE(test::succeeds(end::reconcile(host_.env, test::HookHost::soon())));
  EXPECT_FALSE(record().has_value());
  EXPECT_EQ(partitions(), 0U);
}

TEST_F(ReserveTest, IsRemovedAlsoIfItIsMadeAfterTheSecondLook) {
  host_.before_create = [&] {
    if (++creates_ == 1) host_.controller.fail_next(Error(Code::kTimeout, "no answer"));
  };
  EXPECT_TRUE(test::fails(reserve_ipus(8), Code::kTimeout, "no answer"));
  const std::string name = record()->name;
  EXPECT_TRUE(test::succeeds(end::reconcile(host_.env, test::HookHost::soon())));
  EXPECT_FALSE(record().has_value());
  ASSERT_TRUE(host_.controller.create({name, 8, false, ""}, test::HookHost::soon()).ok());
  EXPECT_TRUE(test::succeeds(end::reconcile(host_.env, test::HookHost::soon())));
  EXPECT_EQ(partitions(), 0U);
}

// A removal whose answer was lost may be carried out later, on whatever has the name then.
TEST_F(ReserveTest, HasANewNameForEachAttempt) {
  std::set<std::string> names;
  host_.before_create = [&] {
    names.insert(record()->name);
    if (++creates_ == 1)
      host_.controller.fail_next(Error(Code::kTimeout, "no answer"), When::kAfterAndLeave);
  };
  come_back();
  EXPECT_TRUE(test::succeeds(reserve_ipus(16, milliseconds(30'000))));
  EXPECT_EQ(names.size(), 2U);
  EXPECT_TRUE(names.contains(record()->name));
}

TEST_F(ReserveTest, GivesUpIfItsPlaceIsTakenAwayWhileTheControllerIsAsked) {
  fill();
  host_.before_create = [&] {
    if (++creates_ != 2) return;
    (void)host_.controller.remove("of-others", vipu::Force::kNo, test::HookHost::soon());
    for (const ledger::Waiter& waiter : host_.ledger.queue().list().take())
      (void)host_.ledger.queue().leave(waiter.ticket);
  };
  EXPECT_TRUE(test::fails(reserve_ipus(16, milliseconds(30'000)), Code::kBusy, "was cancelled"));
  EXPECT_FALSE(record().has_value());
  EXPECT_EQ(partitions(), 0U);
}

TEST_F(ReserveTest, IsAwaitedByAStartWhileItIsBeingMade) {
  ledger::PartitionRecord made;
  made.pool = "pod16";
  made.name = "r-0123456789ab";
  made.source = config::source_of(host_.config.pools[0]);
  made.ipus = 8;
  made.reservation = "night";
  made.owner = base::current_process().take();
  made.boot_id = base::boot_id().take();
  ASSERT_TRUE(test::succeeds(host_.ledger.partitions().intend(made)));
  EXPECT_TRUE(test::fails(resolve("night"), Code::kBusy, "is still being made"));
  request::Request request;
  request.partition = "night";
  request.is_reservation = true;
  EXPECT_TRUE(test::fails(host_.prepare("hasty", request), Code::kBusy, "IPU_WAIT=60s"));
  request.wait = milliseconds(30'000);
  std::string waiter;
  host_.env.still_wanted = [&] {
    const std::vector<ledger::Waiter> waiters = host_.ledger.queue().list().take();
    if (waiters.empty() || !waiter.empty()) return Status();
    waiter = str(waiters[0].container, " for ", waiters[0].resource);
    EXPECT_TRUE(host_.controller.create({made.name, 8, false, ""}, test::HookHost::soon()).ok());
    return host_.ledger.partitions().mark_ready(made);
  };
  EXPECT_TRUE(test::succeeds(host_.prepare("web", request)));
  EXPECT_EQ(waiter, "web for pod16/night");
  EXPECT_EQ(host_.lease_of("web").partition, made.name);
  EXPECT_TRUE(host_.ledger.queue().list().take().empty());
}

TEST_F(ReserveTest, IsAwaitedAlsoWhileItWaitsForIpus) {
  ledger::Waiter reserving;
  reserving.resource = "pod16";
  reserving.container = waiter_of("night");
  reserving.owner = base::current_process().take();
  reserving.boot_id = base::boot_id().take();
  reserving.until_ms = base::unix_millis() + 60'000;
  const int64_t ticket = host_.ledger.queue().enter(reserving).take();
  request::Request request;
  request.partition = "night";
  request.is_reservation = true;
  request.wait = milliseconds(30'000);
  host_.env.still_wanted = [&] {
    (void)host_.ledger.queue().leave(ticket);
    return Status();
  };
  EXPECT_TRUE(test::fails(host_.prepare("web", request), Code::kNotFound,
                          "there is no reservation 'night'"))
      << "it gave up";
}

TEST_F(ReserveTest, IsFoundInItsPoolAloneAndALiveOneCounts) {
  ASSERT_TRUE(test::succeeds(reserve_ipus(8)));
  ledger::PartitionRecord ended = *record();
  ended.pool = "another";
  ended.name = "r-0123456789ab";
  ended.until_ms = 1;
  ended.state = ledger::PartitionState::kIntent;
  ASSERT_TRUE(test::succeeds(host_.ledger.partitions().intend(ended)));
  ASSERT_TRUE(test::succeeds(host_.ledger.partitions().mark_ready(ended)));
  EXPECT_EQ(resolve("night").take().pool, "pod16");
}

TEST_F(ReserveTest, IsNotWhatANamedPartitionIs) {
  partitions::NewPartition plain{host_.config.pools[0], {}};
  plain.request.id = "plain";
  plain.request.size = 4;
  ASSERT_TRUE(
      test::succeeds(partitions::create_partition(host_.env, plain, test::HookHost::soon())));
  EXPECT_TRUE(test::fails(resolve("plain"), Code::kNotFound, "there is no reservation 'plain'"));
  EXPECT_EQ(resolve("plain", false).take().pool, "");
  const auto named = host_.ledger.partitions().find("pod16", "plain").take();
  EXPECT_TRUE(test::fails(host_.ledger.partitions().set_end(*named, 1), Code::kBusy, "plain"));
}

TEST_F(ReserveTest, IsRefusedAtOnceBeyondTheShareOfTheUser) {
  ReservationRequest wanted{"night", 8, milliseconds(60'000), milliseconds(0), "alice", 1, 1000, 8};
  ASSERT_TRUE(test::succeeds(reserve(host_.env, host_.config, host_.config.pools[0], wanted)));
  EXPECT_EQ(record()->user, 1000);
  wanted.name = "more";
  EXPECT_TRUE(test::fails(reserve(host_.env, host_.config, host_.config.pools[0], wanted),
                          Code::kDenied, "your reservations have 8 already"));
}

TEST_F(ReserveTest, SaysWhatWouldMakeRoomWhileItWaits) {
  const auto missing = [&](uint32_t ipus) {
    return what_is_missing(host_.env, host_.config.pools[0], ipus);
  };
  EXPECT_EQ(missing(16), "");
  host_.start("a", 4);
  EXPECT_EQ(missing(8), "");
  EXPECT_EQ(missing(16),
            "largest free: 8, held by 1 container; there would be a block without container a");
  ASSERT_TRUE(host_.controller.create({"of-others", 8, false, ""}, test::HookHost::soon()).ok());
  EXPECT_EQ(missing(16),
            "largest free: 4, held by 1 container; there would be a block without container a,"
            " of-others");
  host_.env.names_others = false;
  EXPECT_EQ(missing(16),
            "largest free: 4, held by 1 container; there would be a block without 2 partitions");
  host_.controller.set_unreachable(true);
  EXPECT_EQ(missing(16), "");
}

TEST_F(ReserveTest, NamesNoOthersToWhoMayNotSeeThem) {
  fill();
  ledger::Waiter other;
  other.resource = host_.config.pools[0].name;
  other.container = "of-somebody";
  other.owner = base::current_process().take();
  other.boot_id = base::boot_id().take();
  other.until_ms = base::unix_millis() + 60'000;
  ASSERT_TRUE(host_.ledger.queue().enter(other).ok());
  const Status named = reserve_ipus(8);
  EXPECT_TRUE(test::fails(named, Code::kBusy, "of-somebody"));
  host_.env.names_others = false;
  const Status unnamed = reserve_ipus(8);
  EXPECT_TRUE(test::fails(unnamed, Code::kBusy, "1 request is ahead"));
  EXPECT_EQ(unnamed.error().message().find("of-somebody"), std::string::npos);
}

}  // namespace
}  // namespace hook::lifecycle::start
