// SPDX-License-Identifier: Apache-2.0
// The network of a lease beyond one macvlan: several rails, functions, addresses that others have,
// partitions that move, RDMA's GIDs.
#include "hook/lifecycle/network/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <filesystem>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "tests/support/attached.h"

namespace hook {
namespace {

using namespace base::names;
using std::chrono::milliseconds;
using test::AttachedTest;
using test::Init;
using test::succeeds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

base::Json lease_file(test::HookHost& host, const ledger::Lease& lease) {
  const std::string text =
      inject::read_lease_file(host.env.run_dir, lease.id, plan::kLeaseFile).take();
  return base::parse_json(text, "lease.json").take();
}

class RailsTest : public AttachedTest {
 protected:
  // IPU-Machine 0 is on rail0, as all are; machine 1 on rail1.
  void SetUp() override {
    AttachedTest::SetUp();
    if (testing::Test::IsSkipped()) return;
    add_rail("rail1", "10.6.0.9/16");
    host_.config.network.rails.push_back(
        test::HookHost::rail("rail1", "10.6.0.0/16", "10.6.200.10", "10.6.200.99"));
    host_.controller.set_address(1, "10.6.1.2");
  }
};

TEST_F(RailsTest, GivesAContainerTheRailsThatReachItsIpus) {
  const ledger::Lease lease = host_.start("web", 8);
  ASSERT_EQ(lease.rails.size(), 2U);
  ASSERT_TRUE(succeeds(attach(lease)));
  EXPECT_THAT(ip_in(init_, "route show dev roce0"),
              HasSubstr("10.5.1.1 proto static scope link src 10.5.200."));
  EXPECT_THAT(ip_in(init_, "route show dev roce1"),
              HasSubstr("10.6.1.2 proto static scope link src 10.6.200."));
  EXPECT_EQ(lease_file(host_, lease)["rails"].size(), 2U);
  ASSERT_TRUE(succeeds(poststop(lease)));
  EXPECT_THAT(init_.interfaces(), Not(HasSubstr("roce")));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(RailsTest, GivesNoRailThatReachesNone) {
  const ledger::Lease first = host_.start("web", 4);
  ASSERT_EQ(first.rails.size(), 1U);
  EXPECT_EQ(first.rails[0].parent, "rail0");
  const ledger::Lease second = host_.start("db", 4);
  ASSERT_EQ(second.rails.size(), 1U);
  EXPECT_EQ(second.rails[0].parent, "rail1");
  EXPECT_EQ(second.rails[0].interface, "roce1");
}

TEST_F(RailsTest, ARailThatIsMissingHoldsUpOnlyWhoNeedsIt) {
  ip("link delete rail1");
  EXPECT_TRUE(succeeds(host_.prepare("web", 4)));
  EXPECT_TRUE(test::fails(host_.prepare("db", 4), Code::kNotFound, "rail1"));
  EXPECT_EQ(host_.partitions().size(), 1U);
}

TEST_F(RailsTest, AddsARailToANamespaceThatHasTheOther) {
  const ledger::Lease web = start_and_attach();
  ASSERT_TRUE(succeeds(prepare_in("side", init_, 4)));
  const Init side_init("side", &init_);
  const ledger::Lease side = host_.lease_of("side");
  ASSERT_TRUE(succeeds(attach(side, side_init)));
  EXPECT_THAT(ip_in(init_, "route show dev roce0"), HasSubstr("10.5.1.1"));
  EXPECT_THAT(ip_in(init_, "route show dev roce1"), HasSubstr("10.6.1.2"));
  ASSERT_TRUE(succeeds(poststop(web)));
  ASSERT_TRUE(succeeds(poststop(side)));
  EXPECT_THAT(init_.interfaces(), Not(HasSubstr("roce")));
  EXPECT_TRUE(host_.is_empty());
}

// A controller that is configured by name.
class ControllerNameTest : public AttachedTest {
 protected:
  ControllerNameTest() {
    host_.config.pools[0].controller = "vipu.example:8090";
    host_.controller.set_own_addresses({"10.1.3.101", "10.1.3.102", "fd00:7::1"});
  }
  void expect_prohibited() {
    const std::string routes = ip_in(init_, "route show table 4791");
    EXPECT_THAT(routes, HasSubstr("prohibit 10.1.3.101 proto static"));
    EXPECT_THAT(routes, HasSubstr("prohibit 10.1.3.102 proto static"));
    EXPECT_THAT(ip_in(init_, "-6 route show table 4791"), HasSubstr("prohibit fd00:7::1 dev lo"));
  }
};

TEST_F(ControllerNameTest, IsOutOfReachAtAllItsAddresses) {
  start_and_attach();
  expect_prohibited();
}

// As docker does in a network without IPv6.
TEST_F(ControllerNameTest, IsOutOfReachWhereIpv6IsTurnedOff) {
  const base::Fd target = base::open_at(AT_FDCWD, init_.network(), O_RDONLY).take();
  const base::Fd back = base::open_at(AT_FDCWD, "/proc/self/ns/net", O_RDONLY).take();
  ASSERT_EQ(::setns(target.get(), CLONE_NEWNET), 0);
  const base::Fd off =
      base::open_at(AT_FDCWD, "/proc/sys/net/ipv6/conf/all/disable_ipv6", O_WRONLY).take();
  EXPECT_TRUE(succeeds(base::write_all(off.get(), "1", "disable_ipv6")));
  ASSERT_EQ(::setns(back.get(), CLONE_NEWNET), 0);
  start_and_attach();
  expect_prohibited();
}

// Whoever answers for the name could name the IPUs of a container that runs.
TEST_F(ControllerNameTest, DoesNotCutAnotherContainerInTheNamespaceOff) {
  start_and_attach();
  host_.controller.set_own_addresses({"10.5.1.1"});
  ASSERT_TRUE(succeeds(prepare_in("side", init_, 4)));
  const Init side("side", &init_);
  ASSERT_TRUE(succeeds(attach(host_.lease_of("side"), side)));
  expect_prohibited();
  EXPECT_THAT(ip_in(init_, "route get 10.5.1.1"), HasSubstr("dev roce0"));
  EXPECT_THAT(ip_in(init_, "route get 10.5.1.2"), HasSubstr("dev roce0"));
}

class DuplicateTest : public AttachedTest {
 protected:
  const netns::MacAddress stranger_ = netns::parse_mac("52:54:00:00:00:77").take();
};

TEST_F(DuplicateTest, RefusesAnAddressThatAnotherHostHasAndSetsItAside) {
  host_.probe_report = {{"roce0", stranger_}};
  const ledger::Lease lease = host_.start("web", 4);
  EXPECT_THAT(host_.probed, ElementsAre(lease.id));
  const Status refused = attach(lease);
  EXPECT_TRUE(test::fails(refused, Code::kExists, "52:54:00:00:00:77"));
  EXPECT_THAT(refused.error().message(), HasSubstr(netns::to_string(lease.rails[0].address)));
  EXPECT_THAT(init_.interfaces(), Not(HasSubstr("roce0:")));
  EXPECT_TRUE(host_.is_empty());
  host_.probe_report.clear();
  const ledger::Lease next = host_.start("db", 4);
  EXPECT_NE(next.rails[0].address, lease.rails[0].address);
  EXPECT_TRUE(succeeds(attach(next)));
}

TEST_F(DuplicateTest, StartsWhenTheProbeNeverAnswers) {
  host_.env.start_probe = [](const std::string&) {};
  const ledger::Lease lease = host_.start("web", 4);
  EXPECT_TRUE(succeeds(attach(lease)));
}

TEST_F(DuplicateTest, DoesNotAskWhereItIsTurnedOff) {
  host_.config.network.duplicate_probe = milliseconds(0);
  const ledger::Lease lease = host_.start("web", 4);
  EXPECT_TRUE(host_.probed.empty());
  EXPECT_TRUE(succeeds(attach(lease)));
}

using RefreshTest = AttachedTest;

TEST_F(RefreshTest, FollowsAPartitionThatWasRelocated) {
  ledger::Lease lease = start_and_attach();
  EXPECT_EQ(lifecycle::network::refresh_lease(host_.env, lease, test::HookHost::soon()).value(),
            lifecycle::network::Refreshed::kSame);
  const std::string path = inject::lease_dir(host_.env.run_dir, lease.id) + "/" + plan::kIpuofFile;
  const base::Fd folder_of_container =
      base::open_at(AT_FDCWD, base::directory_of(path), O_RDONLY | O_DIRECTORY).take();
  host_.controller.set_address(0, "10.5.1.77");
  const auto moved = lifecycle::network::refresh_lease(host_.env, lease, test::HookHost::soon());
  ASSERT_TRUE(succeeds(moved));
  EXPECT_EQ(moved.value(), lifecycle::network::Refreshed::kMoved);
  EXPECT_EQ(netns::to_string(host_.stored(lease).devices[0].address), "10.5.1.77");
  const std::string routes = ip_in(init_, "route show dev roce0");
  EXPECT_THAT(routes, HasSubstr("10.5.1.77 proto static scope link"));
  EXPECT_THAT(routes, Not(HasSubstr("10.5.1.1 ")));
  // The bind mount is of the folder, so it shows the file that took the name of the old one.
  const base::Fd seen_by_container =
      base::open_at(folder_of_container.get(), path.substr(path.rfind('/') + 1), O_RDONLY).take();
  EXPECT_THAT(base::read_all(seen_by_container.get(), 1 << 16, "ipuof.conf").take(),
              HasSubstr("10.5.1.77"));
  EXPECT_EQ(lifecycle::network::refresh_lease(host_.env, lease, test::HookHost::soon()).value(),
            lifecycle::network::Refreshed::kSame);
}

// Such a lease has its files beside each other, and its container has them by mounts of their own.
TEST_F(RefreshTest, FollowsThatOfALeaseFromBeforeTheFolders) {
  ledger::Lease lease = start_and_attach();
  const std::filesystem::path folder = inject::lease_dir(host_.env.run_dir, lease.id);
  std::filesystem::rename(folder / plan::kIpuofFile, folder / "ipuof.conf");
  std::filesystem::remove((folder / plan::kIpuofFile).parent_path());
  const base::Fd seen_by_container =
      base::open_at(AT_FDCWD, folder / "ipuof.conf", O_RDONLY).take();
  EXPECT_EQ(lifecycle::network::refresh_lease(host_.env, lease, test::HookHost::soon()).value(),
            lifecycle::network::Refreshed::kSame);
  host_.controller.set_address(0, "10.5.1.77");
  EXPECT_EQ(lifecycle::network::refresh_lease(host_.env, lease, test::HookHost::soon()).value(),
            lifecycle::network::Refreshed::kMoved);
  EXPECT_THAT(base::read_all(seen_by_container.get(), 1 << 16, "ipuof.conf").take(),
              HasSubstr("10.5.1.77"));
  EXPECT_FALSE(std::filesystem::exists(folder / plan::kIpuofFile));
}

TEST_F(RefreshTest, EndsWhatAnEarlierOneThatWasCutShortBegan) {
  ledger::Lease lease = start_and_attach();
  host_.controller.set_address(0, "10.5.1.77");
  std::vector<ledger::LeasedIpu> moved = lease.devices;
  moved[0].address = netns::parse_address("10.5.1.77").take();
  ASSERT_TRUE(succeeds(host_.env.ledger.mark_relocated(lease, moved)));
  EXPECT_EQ(lifecycle::network::refresh_lease(host_.env, lease, test::HookHost::soon()).value(),
            lifecycle::network::Refreshed::kMoved);
  EXPECT_THAT(ip_in(init_, "route show dev roce0"), HasSubstr("10.5.1.77 "));
  EXPECT_THAT(inject::read_lease_file(host_.env.run_dir, lease.id, plan::kIpuofFile).value(),
              HasSubstr("10.5.1.77"));
  EXPECT_EQ(lifecycle::network::refresh_lease(host_.env, lease, test::HookHost::soon()).value(),
            lifecycle::network::Refreshed::kSame);
}

TEST_F(RefreshTest, DoesNotFollowToWhereNoContainerMayGo) {
  ledger::Lease lease = start_and_attach();
  const auto refuse = [](const vipu::Grant& grant, const std::vector<ledger::LeasedIpu>& ipus) {
    EXPECT_EQ(grant.gcds.at(0).devices.at(0).ip, "10.5.1.77");
    EXPECT_EQ(netns::to_string(ipus.at(0).address), "10.5.1.77");
    return base::Status(base::Error(Code::kDenied, "no machine"));
  };
  host_.controller.set_address(0, "10.5.1.77");
  EXPECT_TRUE(test::fails(
      lifecycle::network::refresh_lease(host_.env, lease, test::HookHost::soon(), refuse),
      Code::kDenied, "no machine"));
  EXPECT_EQ(netns::to_string(host_.stored(lease).devices[0].address), "10.5.1.1");
  EXPECT_THAT(ip_in(init_, "route show dev roce0"), Not(HasSubstr("10.5.1.77")));
}

TEST_F(RefreshTest, SaysWhenNoInterfaceReachesTheNewPlace) {
  ledger::Lease lease = start_and_attach();
  host_.controller.set_address(0, "10.7.1.77");
  EXPECT_TRUE(
      test::fails(lifecycle::network::refresh_lease(host_.env, lease, test::HookHost::soon()),
                  Code::kUnsupported, "10.7.1.77"));
  EXPECT_EQ(netns::to_string(host_.stored(lease).devices[0].address), "10.5.1.1");
}

// An RDMA device as sysfs tells of it, whose table the test fills.
class GidTest : public AttachedTest {
 protected:
  void SetUp() override {
    AttachedTest::SetUp();
    if (testing::Test::IsSkipped()) return;
    write("infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0", kParent);
    set_gid(0, "fe80:0000:0000:0000:0000:0000:0000:0001");
    write("infiniband_verbs/uverbs0/ibdev", "mlx5_0");
    write("infiniband_verbs/uverbs0/dev", "231:192");
    write("misc/rdma_cm/dev", "10:58");
    host_.config.network.gid_wait = milliseconds(50);
  }
  void write(const std::string& path, const std::string& text) {
    const std::string file = host_.env.sysfs + "/class/" + path;
    ASSERT_TRUE(succeeds(base::ensure_dir(file.substr(0, file.rfind('/')), 0755)));
    ASSERT_TRUE(succeeds(base::write_atomic(file, text, {})));
  }
  void set_gid(int index, const std::string& gid) {
    write(str("infiniband/mlx5_0/ports/1/gids/", index), gid);
    write(str("infiniband/mlx5_0/ports/1/gid_attrs/types/", index), "RoCE v2");
    write(str("infiniband/mlx5_0/ports/1/gid_attrs/ndevs/", index), kParent);
  }
  static std::string gid_of(const netns::Address& address) {
    const auto raw = address.raw();
    char text[64];
    (void)std::snprintf(text, sizeof text, "0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x",
                        raw[0], raw[1], raw[2], raw[3]);
    return text;
  }
};

TEST_F(GidTest, PublishesTheIndexOfTheAddress) {
  set_gid(7, "0000:0000:0000:0000:0000:0000:0000:0000");
  const ledger::Lease lease = host_.start("web", 4);
  EXPECT_TRUE(lease_file(host_, lease)["rails"][0]["rdma"]["gid_index"].is_null());
  set_gid(7, gid_of(lease.rails[0].address));
  ASSERT_TRUE(succeeds(attach(lease)));
  const base::Json rdma = lease_file(host_, lease)["rails"][0]["rdma"];
  EXPECT_EQ(rdma["device"], "mlx5_0");
  EXPECT_EQ(rdma["port"], 1);
  EXPECT_EQ(rdma["gid_index"], 7);
  EXPECT_EQ(rdma["gid_type"], "RoCE v2");
}

TEST_F(GidTest, RefusesAContainerWhoseGidNeverComes) {
  set_gid(1, "0000:0000:0000:0000:0000:0000:0000:0000");
  const ledger::Lease lease = host_.start("web", 4);
  EXPECT_TRUE(test::fails(attach(lease), Code::kTimeout, "no RoCE v2 GID"));
  EXPECT_THAT(init_.interfaces(), Not(HasSubstr("roce0:")));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(GidTest, RefusesAContainerForWhichTheTableHasNoRoom) {
  EXPECT_TRUE(test::fails(host_.prepare("web", 4), Code::kBusy, "1 of 1 used"));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(GidTest, KeepsToTheShareOfTheTableThatTheConfigurationGives) {
  for (int i = 1; i < 8; ++i) set_gid(i, "0000:0000:0000:0000:0000:0000:0000:0000");
  host_.config.network.rails[0].max_gids = 1;
  EXPECT_TRUE(succeeds(host_.prepare("web", 4)));
  const Status refused = host_.prepare("db", 4);
  EXPECT_TRUE(test::fails(refused, Code::kBusy, "max_gids"));
  EXPECT_THAT(refused.error().message(), HasSubstr("'mlx5_0' port 1"));
}

TEST_F(GidTest, RefusesADeviceThatBelongsToOneNamespace) {
  set_gid(1, "0000:0000:0000:0000:0000:0000:0000:0000");
  host_.env.host.rdma_mode = []() -> base::Result<std::optional<netns::RdmaMode>> {
    return std::optional(netns::RdmaMode::kExclusive);
  };
  EXPECT_TRUE(test::fails(host_.prepare("web", 4), Code::kUnsupported, "exclusive"));
  EXPECT_TRUE(host_.is_empty());
}

// A veth's end stands for a function: an interface of the host that is moved into the container.
class FunctionTest : public AttachedTest {
 protected:
  void SetUp() override {
    AttachedTest::SetUp();
    if (testing::Test::IsSkipped()) return;
    ip("link add vf0 type veth peer name fabric-vf0");
    ip("link set fabric-vf0 up");
    ip("link set vf0 up");
    config::RailConfig& rail = host_.config.network.rails[0];
    rail.parent.clear();
    rail.functions = {"vf0", "vf9"};  // one that is not there
  }
  // The folder of kept namespaces is a mount of its own, which stays.
  void TearDown() override {
    (void)::umount2(lifecycle::kept_namespaces(host_.env).c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
    AttachedTest::TearDown();
  }
};

TEST_F(FunctionTest, IsMovedIntoTheContainerAndGivenBack) {
  const std::string before = ip("-o link show vf0");
  const ledger::Lease lease = host_.start("web", 4);
  EXPECT_EQ(lease.rails[0].parent, "vf0");
  ASSERT_TRUE(succeeds(attach(lease)));
  EXPECT_THAT(ip_in(init_, "address show roce0"),
              HasSubstr(netns::to_string(lease.rails[0].address)));
  EXPECT_THAT(ip("-o link"), Not(HasSubstr(" vf0@")));
  ASSERT_TRUE(succeeds(poststop(lease)));
  EXPECT_THAT(ip("-o link show vf0"), HasSubstr("vf0"));
  EXPECT_THAT(ip("address show vf0"), Not(HasSubstr("inet 10.5")));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(FunctionTest, IsForOneContainerAtATime) {
  const ledger::Lease lease = host_.start("web", 4);
  EXPECT_TRUE(test::fails(host_.prepare("db", 4), Code::kBusy, "web"));
  ASSERT_TRUE(succeeds(attach(lease)));
  EXPECT_TRUE(test::fails(host_.prepare("db", 4), Code::kBusy, "web"));
  ASSERT_TRUE(succeeds(poststop(lease)));
  EXPECT_TRUE(succeeds(host_.prepare("db", 4)));
}

TEST_F(FunctionTest, IsOfTheHostAgainWhenTheContainerCouldNotBeAttached) {
  ip(str("link add roce0 netns ", init_.pid(), " type veth peer name other0"));
  const ledger::Lease lease = host_.start("web", 4);
  EXPECT_TRUE(test::fails(attach(lease), Code::kExists, "roce0"));
  EXPECT_THAT(ip("-o link show vf0"), HasSubstr("vf0"));
  EXPECT_TRUE(host_.is_empty());
}

}  // namespace
}  // namespace hook
