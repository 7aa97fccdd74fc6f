// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/create.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "tests/support/hook_host.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;
using base::Json;
using testing::ElementsAre;
using testing::IsEmpty;

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

class PrepareTest : public testing::Test {
 protected:
  // Starts "web", which must fail; nothing of it may be left, and its bundle is as it was.
  Status fail_to_start(uint32_t ipus) {
    inject::Bundle bundle = host_.make_bundle("web");
    const std::string before = host_.config_of("web");
    request::Request request;
    request.ipus = ipus;
    const size_t leases = host_.live_leases();
    Status failed = prepare_container(host_.env, host_.config, request, "web",
                                      oci::parse_spec(bundle.config()).take(), bundle);
    EXPECT_FALSE(failed.ok());
    EXPECT_EQ(host_.config_of("web"), before);
    host_.controller.set_unreachable(false);
    EXPECT_EQ(host_.partitions().size(), leases);
    EXPECT_EQ(host_.live_leases(), leases);
    EXPECT_EQ(host_.lease_directories().size(), leases);
    return failed;
  }
  // For a failure before anything is taken: the controller was not even asked.
  void expect_untouched() {
    EXPECT_THAT(host_.asked_controllers, IsEmpty());
    EXPECT_FALSE(host_.ledger.get("web").ok());
  }
  test::HookHost host_;
};

TEST_F(PrepareTest, RecordsTheLeaseWithAllThatItHolds) {
  const ledger::Lease lease = host_.start("web", 4);
  EXPECT_EQ(lease.state, ledger::LeaseState::kAllocated);
  EXPECT_EQ(lease.container, "web");
  EXPECT_EQ(lease.bundle, host_.dir / "web");
  EXPECT_EQ(lease.owner, base::current_process().value());
  EXPECT_EQ(lease.ipus, 4U);
  EXPECT_EQ(lease.devices.size(), 4U);
  EXPECT_THAT(lease.prohibited, ElementsAre(netns::parse_prefix("10.5.0.0/16").value(),
                                            netns::parse_prefix("10.5.1.254/32").value()));
  EXPECT_THAT(host_.partitions(), ElementsAre(lease.partition));
}

TEST_F(PrepareTest, WritesFilesThatAContainerCanReadAndOthersNotFind) {
  const ledger::Lease lease = host_.start("web", 4);
  const std::string directory = "run/leases/" + lease.id;
  EXPECT_EQ(mode_of(host_.dir / "run"), 0711U);
  EXPECT_EQ(mode_of(host_.dir / "run/leases"), 0711U);
  EXPECT_EQ(mode_of(host_.dir / directory), 0711U);
  EXPECT_EQ(mode_of(host_.dir / (directory + "/ipu")), 0755U);
  EXPECT_EQ(mode_of(host_.dir / (directory + "/ipuof.conf.d/ipuof.conf")), 0444U);
  EXPECT_EQ(mode_of(host_.dir / (directory + "/ipu/lease.json")), 0444U);
}

TEST_F(PrepareTest, EditsTheBundleAndKeepsItsMode) {
  const ledger::Lease lease = host_.start("web", 4);
  EXPECT_EQ(mode_of(host_.dir / "web/config.json"), 0600U);
  const Json spec = base::parse_json(host_.config_of("web"), "config.json").take();
  EXPECT_EQ(spec["annotations"]["graphcore.ai/ipu.lease"], lease.id);
  EXPECT_EQ(spec["hooks"]["createRuntime"][0]["args"][3], lease.id);
  EXPECT_EQ(spec["mounts"].back()["source"], host_.dir / ("run/leases/" + lease.id + "/ipu"));
}

TEST_F(PrepareTest, GivesEachContainerItsOwn) {
  const ledger::Lease first = host_.start("a", 8);
  const ledger::Lease second = host_.start("b", 8);
  EXPECT_NE(first.rails[0].address, second.rails[0].address);
  EXPECT_EQ(host_.partitions().size(), 2U);
}

TEST_F(PrepareTest, GivesTheDevicesOfTheRail) {
  const auto write = [&](const std::string& path, const std::string& text) {
    const std::string file = host_.env.sysfs + "/class/" + path;
    ASSERT_TRUE(base::ensure_dir(file.substr(0, file.rfind('/')), 0755).ok());
    ASSERT_TRUE(base::write_atomic(file, text, {}).ok());
  };
  write("infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0", "rnic0");
  for (const char* gid : {"0", "1", "2"}) {
    write(base::str("infiniband/mlx5_0/ports/1/gids/", gid),
          "0000:0000:0000:0000:0000:0000:0000:0000");
  }
  write("infiniband_verbs/uverbs0/ibdev", "mlx5_0");
  write("infiniband_verbs/uverbs0/dev", "231:192");
  write("misc/rdma_cm/dev", "10:58");
  host_.config.network.rdma = config::RdmaUse::kRequire;
  host_.start("web", 4);
  const Json spec = base::parse_json(host_.config_of("web"), "config.json").take();
  EXPECT_EQ(spec["linux"]["devices"][1]["path"], "/dev/infiniband/uverbs0");
  host_.config.network.rdma = config::RdmaUse::kOff;
  host_.start("db", 4);
  EXPECT_EQ(host_.config_of("db").find("uverbs0"), std::string::npos);
}

TEST_F(PrepareTest, GetsIpusThatTheControllerGaveAwayBeforeTheLedgerHadThemBack) {
  ledger::Lease first = host_.start("first", 16);
  ASSERT_TRUE(
      test::succeeds(host_.ledger.begin_release(first, base::identify_process(1).take(), "")));
  ASSERT_TRUE(test::succeeds(
      host_.controller.remove(first.partition, vipu::Force::kYes, test::HookHost::soon())));
  bool granted = false;
  std::atomic<bool> attempted = false;
  host_.before_create = [&] { granted = true; };
  const std::string path = host_.dir / "state/ledger.db";
  // Asked for the time while this process alone may write: the other waits for its first attempt.
  host_.ledger = ledger::Ledger::open(path, [&] {
                   if (granted) attempted = true;
                   return base::unix_millis();
                 }).take();
  std::thread releaser([&] {
    ledger::Ledger other = ledger::Ledger::open(path).take();
    const base::Deadline patience = test::HookHost::soon();
    while (!attempted && !patience.passed()) {
      base::sleep_for(std::chrono::milliseconds(1), patience);
    }
    EXPECT_TRUE(test::succeeds(other.finish_release(first)));
  });
  EXPECT_TRUE(test::succeeds(host_.prepare("second", 16)));
  releaser.join();
}

// The controller has answered, and what a dead container held is given back before it is looked
// for.
TEST_F(PrepareTest, FindsWhatAnotherProcessGaveBackSinceTheControllerAnswered) {
  ledger::Lease first = host_.start("first", 16);
  int asked = 0;
  host_.before_create = [&] {
    if (++asked > 1) return;
    ledger::Ledger other = ledger::Ledger::open(host_.dir / "state/ledger.db").take();
    EXPECT_TRUE(test::succeeds(other.begin_release(first, base::current_process().take(), "")));
    EXPECT_TRUE(test::succeeds(
        host_.controller.remove(first.partition, vipu::Force::kYes, test::HookHost::soon())));
    EXPECT_TRUE(test::succeeds(other.finish_release(first)));
    host_.controller.fail_next(base::Error(Code::kBusy, "no free block of 16 IPUs"));
  };
  EXPECT_TRUE(test::succeeds(host_.prepare("second", 16)));
  EXPECT_EQ(asked, 2);
}

TEST_F(PrepareTest, SaysThatThePoolIsFullInTheWordsOfTheDesign) {
  for (const char* name : {"a", "b", "c"}) host_.start(name, 4);
  const Status full = fail_to_start(8);
  EXPECT_EQ(full.error().code(), Code::kBusy);
  EXPECT_EQ(full.error().message(),
            "pool \"pod16\" has no free block of 8 IPUs (largest free: 4, held by 3 containers);"
            " there would be one without container c; wait with IPU_WAIT=60s or see 'ipuctl ps'");
  EXPECT_EQ(host_.lease_of("web").state, ledger::LeaseState::kFailed);
  EXPECT_EQ(host_.lease_of("web").error, full.error().message());
}

TEST_F(PrepareTest, CountsOneHolderInTheSingular) {
  host_.start("a", 16);
  const Status full = fail_to_start(1);
  EXPECT_THAT(
      full.error().message(),
      testing::HasSubstr("(largest free: 0, held by 1 container); there would be one without "
                         "container a;"));
}

TEST_F(PrepareTest, CountsContainersOfOtherHostsByTheNamesOfTheirPartitions) {
  host_.start("a", 4);
  // Of a container, of nobody yet, and of an operator.
  for (const char* name : {"c-0badc0de-0123456789ab", "w-0badc0de-0123456789ab", "train"})
    ASSERT_TRUE(host_.controller.create({name, 4}, test::HookHost::soon()).ok());
  EXPECT_TRUE(test::fails(host_.prepare("web", 4), Code::kBusy,
                          "(largest free: 0, held by 1 container here and 1 of other hosts); there"
                          " would be one without "));
}

TEST_F(PrepareTest, LeavesNothingWhenTheControllerIsDown) {
  host_.controller.set_unreachable(true);
  EXPECT_EQ(fail_to_start(4).error().code(), Code::kUnavailable);
  EXPECT_TRUE(host_.is_empty());
  EXPECT_EQ(host_.lease_of("web").state, ledger::LeaseState::kFailed);
}

TEST_F(PrepareTest, AsksNothingMoreOfAControllerThatRefused) {
  for (const Code code : {Code::kDenied, Code::kInvalid}) {
    // Made nevertheless, so that its removal would be seen.
    host_.controller.fail_next(base::Error(code, "refused"), test::FakeController::When::kAfter);
    EXPECT_TRUE(test::fails(host_.prepare("web", 4), code, "refused"));
    EXPECT_EQ(host_.live_leases(), 0U);
    ASSERT_EQ(host_.partitions().size(), 1U);
    const std::string made = host_.partitions().front();
    EXPECT_TRUE(
        test::succeeds(host_.controller.remove(made, vipu::Force::kNo, test::HookHost::soon())));
  }
}

TEST_F(PrepareTest, RemovesThePartitionOfAnAnswerThatWasLost) {
  host_.controller.fail_next(base::Error(Code::kTimeout, "no answer"),
                             test::FakeController::When::kAfter);
  EXPECT_TRUE(test::fails(fail_to_start(4), Code::kTimeout, "no answer"));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(PrepareTest, LeavesAPartitionOfItsNameThatSomebodyElseMade) {
  host_.controller.fail_next(base::Error(Code::kExists, "the name is taken"),
                             test::FakeController::When::kAfter);
  EXPECT_TRUE(test::fails(host_.prepare("web", 4), Code::kExists, "the name is taken"));
  EXPECT_EQ(host_.live_leases(), 0U);
  ASSERT_EQ(host_.partitions().size(), 1U);
  const std::string theirs = host_.partitions().front();
  EXPECT_EQ(host_.controller.remove(theirs, vipu::Force::kNo, test::HookHost::soon()).value(),
            base::Removed::kNow);
}

TEST_F(PrepareTest, RemovesAPartitionThatDoesNotBecomeActiveInTime) {
  host_.controller.set_create_delay(std::chrono::hours(1));
  EXPECT_EQ(fail_to_start(4).error().code(), Code::kTimeout);
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(PrepareTest, LeavesToReconcileWhatItCannotUndo) {
  int calls = 0;
  host_.env.controller = [&](const config::PoolConfig&) {
    if (++calls == 1) {
      host_.controller.fail_next(base::Error(Code::kTimeout, "no answer"),
                                 test::FakeController::When::kAfter);
    }
    host_.controller.set_unreachable(calls == 2);  // when the partition is to be removed again
    return std::make_unique<test::LentController>(host_.controller, nullptr);
  };
  EXPECT_TRUE(test::fails(host_.prepare("web", 4), Code::kTimeout));
  EXPECT_EQ(calls, 2);
  host_.controller.set_unreachable(false);
  const ledger::Lease lease = host_.lease_of("web");
  EXPECT_EQ(lease.state, ledger::LeaseState::kReleasing);
  EXPECT_THAT(lease.obstacle, testing::HasSubstr("down"));
  EXPECT_THAT(host_.partitions(), ElementsAre(lease.partition));
  ASSERT_TRUE(test::succeeds(end::reconcile(host_.env, test::HookHost::soon())));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(PrepareTest, UndoesAllWhenTheBundleCannotBeReplaced) {
  inject::Bundle bundle = host_.make_bundle("web");
  ASSERT_TRUE(base::remove_file(host_.dir / "web/config.json").ok());
  ASSERT_TRUE(base::ensure_dir(host_.dir / "web/config.json", 0755).ok());
  request::Request request;
  request.ipus = 4;
  const Status failed = prepare_container(host_.env, host_.config, request, "web",
                                          oci::parse_spec(bundle.config()).take(), bundle);
  EXPECT_FALSE(failed.ok());
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(PrepareTest, RefusesAnIpuMachineThatNoRailReaches) {
  host_.config.network.rails[0].subnet = netns::parse_prefix("10.5.200.0/24").take();
  EXPECT_TRUE(test::fails(fail_to_start(4), Code::kInvalid,
                          "IPU-Machine 10.5.1.1 of the partition is in no subnet"));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(PrepareTest, RefusesAnAddressThatNoIpuMachineHas) {
  host_.controller.set_address(0, "10.5.200.10");
  EXPECT_TRUE(
      test::fails(fail_to_start(4), Code::kDenied, "10.5.200.10, but it lies in the range"));
}

TEST_F(PrepareTest, RefusesAPortThatAnotherContainerHas) {
  host_.start("web", 4);
  host_.controller.set_address(1, "10.5.1.1");
  host_.controller.pool().first_server_port = 50055;  // the last of the four
  EXPECT_TRUE(test::fails(fail_to_start(4), Code::kExists, "10.5.1.1"));
}

TEST_F(PrepareTest, RefusesTheNetworkOfTheHostBeforeItTakesAnything) {
  inject::Bundle bundle = host_.make_bundle("web", R"({"linux":{"namespaces":[{"type":"pid"}]}})");
  EXPECT_TRUE(test::fails(prepare_container(host_.env, host_.config, {4, false, {}, ""}, "web",
                                            oci::parse_spec(bundle.config()).take(), bundle),
                          Code::kDenied, "--net=host"));
  expect_untouched();
}

TEST_F(PrepareTest, RefusesAnAbsentRailBeforeItTakesAnything) {
  host_.config.network.rails[0].parent = "absent0";
  host_.missing_links = {"absent0"};
  EXPECT_TRUE(test::fails(fail_to_start(4), Code::kNotFound, "network.rail"));
  EXPECT_TRUE(test::fails(host_.prepare("web", 4), Code::kNotFound, "absent0"));
  expect_untouched();
}

TEST_F(PrepareTest, RefusesARailWithoutRdmaWhereThatIsRequired) {
  host_.config.network.rdma = config::RdmaUse::kRequire;
  EXPECT_TRUE(test::fails(fail_to_start(4), Code::kUnsupported, "network.rdma is \"require\""));
  expect_untouched();
}

TEST_F(PrepareTest, SaysThatNoAddressIsLeft) {
  host_.config.network.rails[0].last = host_.config.network.rails[0].first;
  host_.start("a", 4);
  EXPECT_TRUE(test::fails(fail_to_start(4), Code::kBusy, "all 1 addresses of rail 'rnic0'"));
}

TEST_F(PrepareTest, RefusesAPoolThatIsNotConfigured) {
  request::Request request;
  request.ipus = 4;
  request.pool = "other";
  EXPECT_TRUE(test::fails(host_.prepare("web", request), Code::kInvalid,
                          "there is no pool 'other'; the pools are pod16"));
  expect_untouched();
}

TEST_F(PrepareTest, TakesThePoolThatIsNamed) {
  config::PoolConfig other = host_.config.pools[0];
  other.name = "other";
  other.controller = "10.5.1.253:8090";
  host_.config.pools.push_back(other);
  request::Request request;
  request.ipus = 4;
  request.pool = "other";
  ASSERT_TRUE(test::succeeds(host_.prepare("web", request)));
  EXPECT_EQ(host_.lease_of("web").pool, "other");
  EXPECT_THAT(host_.asked_controllers, testing::Each("10.5.1.253:8090"));
}

TEST_F(PrepareTest, RefusesCardsAndNoNetworkOfAPoolOverTheFabric) {
  request::Request cards;
  cards.cards = {0};
  EXPECT_TRUE(test::fails(host_.prepare("web", cards), Code::kInvalid, "IPU_VISIBLE_DEVICES"));
  request::Request no_network;
  no_network.ipus = 4;
  no_network.network = false;
  EXPECT_TRUE(test::fails(host_.prepare("web", no_network), Code::kInvalid, "IPU_NETWORK=none"));
  expect_untouched();
}

TEST_F(PrepareTest, SaysWhatWasNotHonoured) {
  request::Request request;
  request.ipus = 16;
  request.ignored = {"IPU_WAIT='5m' is not honoured"};
  ASSERT_TRUE(test::succeeds(host_.prepare("web", request)));
  bool is_noted = false;
  for (const ledger::Event& event :
       host_.ledger.events().of_lease(host_.lease_of("web").id).take()) {
    is_noted = is_noted || event.text == request.ignored.front();
  }
  EXPECT_TRUE(is_noted);
  EXPECT_TRUE(test::fails(host_.prepare("late", request), Code::kBusy,
                          "see 'ipuctl ps'; IPU_WAIT='5m' is not honoured"));
}

}  // namespace
}  // namespace hook::lifecycle::start
