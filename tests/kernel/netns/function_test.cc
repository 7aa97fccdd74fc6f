// SPDX-License-Identifier: Apache-2.0
// Functions that a container has for itself. A veth end stands for one: it moves like one, and
// cannot outlive its namespace as one does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/names.h"
#include "base/text.h"
#include "netns/attach.h"
#include "netns/filter.h"
#include "netns/session.h"
#include "tests/kernel/netns/world.h"

namespace netns {
namespace {

using namespace base::names;
using base::Removed;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kMac = "02:00:00:00:0f:01";
constexpr const char* kTemporaryName = "ipu020000000f01";

class FunctionTest : public World {
 protected:
  void SetUp() override {
    World::SetUp();
    if (IsSkipped()) return;
    run_ip(host(), str("link add vf0 address ", kMac, " type veth peer name fabvf netns ",
                       path_of(fabric())));
    run_ip(fabric(), str("address add ", to_string(endpoint_), "/16 dev fabvf"));
    run_ip(fabric(), "link set fabvf up");
    service_ = serve_tcp(fabric(), endpoint_);
  }

  [[nodiscard]] NetworkPlan function_plan() const {
    NetworkPlan with = plan();
    RailPlan& rail = with.rails[0];
    rail.kind = LinkKind::kFunction;
    rail.parent = "vf0";
    rail.mac = must(parse_mac(kMac));
    rail.address = ip("10.7.200.1");
    rail.peers = {Peer{endpoint_, service_.port}};
    with.prohibited = {must(parse_prefix("10.7.0.0/16"))};
    return with;
  }
  [[nodiscard]] RailPlan rail() const { return function_plan().rails[0]; }

  void expect_at_home() {
    Session session = must(Session::open(host()));
    const auto link = must(session.find_link("vf0"));
    ASSERT_TRUE(link.has_value());
    EXPECT_EQ(to_string(link->mac), kMac);
    EXPECT_FALSE(link->is_up);
    EXPECT_EQ(run_ip(host(), "-o address show dev vf0"), "");
  }

  const Address endpoint_ = ip("10.7.1.1");
  Service service_{};
};

TEST_F(FunctionTest, IsMovedInWithItsMacAndUsable) {
  run_ip(host(), "address add 10.7.0.9/16 dev vf0");
  run_ip(host(), "link set vf0 up");
  const Namespace container = make_namespace();
  const Attachment attachment = must(attach(function_plan(), host(), container))[0];
  EXPECT_THAT(run_ip(container, "-o link show dev roce0"),
              AllOf(testing::StartsWith(str(attachment.index, ": roce0@")), HasSubstr(kMac)));
  EXPECT_THAT(run_ip(container, "-o address show dev roce0"),
              AllOf(HasSubstr("10.7.200.1/32"), Not(HasSubstr("10.7.0.9"))));
  EXPECT_EQ(read_in(container, "/proc/sys/net/ipv4/conf/roce0/arp_ignore"), "1");
  EXPECT_EQ(connect_tcp({container}, endpoint_, service_.port), 0);
  EXPECT_NE(connect_tcp({container}, endpoint_, 8080, kQuiet), 0);
  Session session = must(Session::open(host()));
  EXPECT_FALSE(must(session.find_link("vf0")).has_value());
}

TEST_F(FunctionTest, MayBeAMacvlan) {
  run_ip(host(), "link delete vf0");
  run_ip(host(), str("link add link host0 name vf0 address ", kMac, " type macvlan mode bridge"));
  const Namespace container = make_namespace();
  NetworkPlan on_fabric = function_plan();
  on_fabric.rails[0].address = plan().rails[0].address;
  on_fabric.rails[0].peers = plan().rails[0].peers;
  must(attach(on_fabric, host(), container));
  EXPECT_EQ(connect_tcp({container}, own_, peer_.port), 0);
  EXPECT_EQ(must(give_back(rail(), host(), &container)), Removed::kNow);
  expect_at_home();
}

TEST_F(FunctionTest, IsGivenBackOnce) {
  const Namespace container = make_namespace();
  must(attach(function_plan(), host(), container));
  EXPECT_EQ(must(give_back(rail(), host(), &container)), Removed::kNow);
  expect_at_home();
  EXPECT_THAT(run_ip(container, "-o link show"), Not(HasSubstr("roce0")));
  EXPECT_EQ(must(give_back(rail(), host(), &container)), Removed::kWasAbsent);
  EXPECT_EQ(must(give_back(rail(), host(), nullptr)), Removed::kWasAbsent);
  expect_at_home();
}

TEST_F(FunctionTest, MayBeAttachedAgainAfterwardsAndTwiceWithoutHarm) {
  for (int i = 0; i < 2; ++i) {
    const Namespace container = make_namespace();
    const Attachment first = must(attach(function_plan(), host(), container))[0];
    EXPECT_EQ(must(attach(function_plan(), host(), container))[0].index, first.index);
    EXPECT_EQ(connect_tcp({container}, endpoint_, service_.port), 0);
    EXPECT_EQ(must(give_back(rail(), host(), &container)), Removed::kNow);
  }
}

TEST_F(FunctionTest, KeepsItsNameAlsoWhereTheHostHasOneLikeTheContainers) {
  add_spare_link(host(), "roce0", "02:00:00:00:00:07");
  const Namespace container = make_namespace();
  must(attach(function_plan(), host(), container));
  EXPECT_EQ(must(give_back(rail(), host(), &container)), Removed::kNow);
  expect_at_home();
}

TEST_F(FunctionTest, GetsTheMtuOfThePlan) {
  const Namespace container = make_namespace();
  NetworkPlan small = function_plan();
  small.rails[0].mtu = 1400;
  EXPECT_EQ(must(attach(small, host(), container))[0].mtu, 1400U);
  EXPECT_THAT(run_ip(container, "-o link show dev roce0"), HasSubstr(" mtu 1400 "));
}

TEST_F(FunctionTest, IsGivenBackWhenTheAttachFails) {
  const Namespace container = make_namespace();
  add_spare_link(container, "eth0", "02:00:00:00:00:07");
  run_ip(container, "route add 10.7.1.1/32 dev eth0");
  const std::string before = snapshot(container);
  EXPECT_EQ(attach(function_plan(), host(), container).error().code(), Code::kExists);
  EXPECT_EQ(snapshot(container), before);
  EXPECT_EQ(must(remove_filter(container)), Removed::kWasAbsent);
  expect_at_home();
}

TEST_F(FunctionTest, StaysOnTheHostWhenItHasAnotherMac) {
  const Namespace container = make_namespace();
  NetworkPlan other = function_plan();
  other.rails[0].mac.bytes[5] = 0x99;
  const auto result = attach(other, host(), container);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), Code::kInvalid);
  EXPECT_THAT(result.error().message(), AllOf(HasSubstr(kMac), HasSubstr("02:00:00:00:0f:99")));
  expect_at_home();
}

TEST_F(FunctionTest, ThatIsAbsentIsNamed) {
  const Namespace container = make_namespace();
  NetworkPlan absent = function_plan();
  absent.rails[0].parent = "vf9";
  const auto result = attach(absent, host(), container);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), Code::kNotFound);
  EXPECT_THAT(result.error().message(), HasSubstr("'vf9'"));
}

TEST_F(FunctionTest, IsFinishedOrGivenBackAfterAnAttachThatWasCutShort) {
  Session session = must(Session::open(host()));
  for (const bool finish : {true, false}) {
    const Namespace container = make_namespace();
    const auto link = must(session.find_link("vf0"));
    ASSERT_TRUE(session.move_link(link.value().index, kTemporaryName, container).ok());
    if (finish) {
      must(attach(function_plan(), host(), container));
      EXPECT_EQ(connect_tcp({container}, endpoint_, service_.port), 0);
    }
    EXPECT_EQ(must(give_back(rail(), host(), &container)), Removed::kNow);
    expect_at_home();
  }
}

TEST_F(FunctionTest, GetsItsNameBackWhenItsNamespaceDied) {
  run_ip(host(), "link set vf0 name dev7");
  run_ip(host(), "link set dev7 up");
  EXPECT_EQ(must(give_back(rail(), host(), nullptr)), Removed::kNow);
  expect_at_home();
  EXPECT_EQ(must(give_back(rail(), host(), nullptr)), Removed::kWasAbsent);
}

TEST_F(FunctionTest, ThatIsNotBackYetIsAnError) {
  run_ip(host(), "link delete vf0");
  const auto result = give_back(rail(), host(), nullptr);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), Code::kNotFound);
  EXPECT_THAT(result.error().message(), AllOf(HasSubstr("'vf0'"), HasSubstr(kMac)));
}

TEST_F(FunctionTest, IsNotGuessedAmongSeveralWithItsMac) {
  run_ip(host(), "link set vf0 name dev7");
  add_spare_link(host(), "vlan7", kMac);
  const auto result = give_back(rail(), host(), nullptr);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), Code::kExists);
  EXPECT_THAT(result.error().message(), AllOf(HasSubstr("'dev7'"), HasSubstr("'vlan7'")));
}

}  // namespace
}  // namespace netns
