// SPDX-License-Identifier: Apache-2.0
// Containers with several interfaces, and with peers that change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <cerrno>

#include "base/names.h"
#include "base/text.h"
#include "netns/attach.h"
#include "netns/filter.h"
#include "tests/kernel/netns/capture.h"
#include "tests/kernel/netns/world.h"

namespace netns {
namespace {

using namespace base::names;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class RailsTest : public World {
 protected:
  void SetUp() override {
    World::SetUp();
    if (IsSkipped()) return;
    add_second_fabric();
    silence_the_wire();
  }
};

bool is_arp_reply_for(const Frame& frame, const Address& address) {
  return frame.kind == FrameKind::kArp && frame.source == address;
}

TEST_F(RailsTest, ReachEachPeerByItsOwnInterfaceOnly) {
  const Namespace container = make_namespace();
  const auto attachments = must(attach(two_rails(), host(), container));
  ASSERT_EQ(attachments.size(), 2U);
  EXPECT_NE(attachments[0].index, attachments[1].index);
  EXPECT_EQ(connect_tcp({container}, own_, peer_.port), 0);
  EXPECT_EQ(connect_tcp({container}, second_, second_peer_.port), 0);
  EXPECT_EQ(connect_tcp({container, "roce1"}, own_, peer_.port, kQuiet), ECONNREFUSED);
  EXPECT_EQ(connect_tcp({container, "roce0"}, second_, second_peer_.port, kQuiet), ECONNREFUSED);
}

TEST_F(RailsTest, PutNothingOnTheWireFromTheAddressOfTheOther) {
  const Namespace container = make_namespace();
  must(attach(two_rails(), host(), container));
  Capture wire(second_fabric(), "fab1");
  Client client{container};
  client.source = ip("10.5.200.1");
  EXPECT_NE(connect_tcp(client, second_, second_peer_.port, kQuiet), 0);
  EXPECT_EQ(try_send_udp(client, second_, 4791), EPERM);
  for (const Frame& frame : wire.frames(kQuiet)) ADD_FAILURE() << to_string(frame);
  EXPECT_EQ(connect_tcp({container}, second_, second_peer_.port), 0);
  EXPECT_FALSE(wire.frames(kQuiet).empty());
}

TEST_F(RailsTest, AnswerForAnAddressOnItsOwnPortOnly) {
  const Namespace container = make_namespace();
  must(attach(two_rails(), host(), container));
  const MacAddress asker{{0x02, 0, 0, 0, 0, 0x77}};
  Capture right(fabric(), "fab0");
  Capture wrong(second_fabric(), "fab1");
  right.ask(ip("10.5.200.1"), own_, asker);
  wrong.ask(ip("10.5.200.1"), second_, asker);
  const auto is_reply = [](const Frame& frame) {
    return is_arp_reply_for(frame, ip("10.5.200.1"));
  };
  EXPECT_THAT(right.frames(kQuiet), testing::Contains(testing::ResultOf(is_reply, true)));
  EXPECT_THAT(wrong.frames(kQuiet), Not(testing::Contains(testing::ResultOf(is_reply, true))));
}

TEST_F(RailsTest, AskForAPeerInTheNameOfTheirOwnAddress) {
  const Namespace container = make_namespace();
  must(attach(two_rails(), host(), container));
  Capture wire(second_fabric(), "fab1");
  EXPECT_EQ(connect_tcp({container}, second_, second_peer_.port), 0);
  int requests = 0;
  for (const Frame& frame : wire.frames(kQuiet)) {
    if (frame.kind != FrameKind::kArp) continue;
    EXPECT_EQ(to_string(frame.source), "10.6.200.1") << to_string(frame);
    ++requests;
  }
  EXPECT_GT(requests, 0);
}

TEST_F(RailsTest, LeaveNothingWhenTheSecondCannotBeMade) {
  const Namespace container = make_namespace();
  const std::string before = snapshot(container);
  NetworkPlan broken = two_rails();
  broken.rails[1].parent = "absent0";
  EXPECT_EQ(attach(broken, host(), container).error().code(), Code::kNotFound);
  EXPECT_EQ(snapshot(container), before);
  EXPECT_EQ(must(remove_filter(container)), base::Removed::kWasAbsent);
}

TEST_F(RailsTest, KeepTheFirstWhenTheSecondCannotBeAdded) {
  const Namespace container = make_namespace();
  must(attach(plan(), host(), container));
  const std::string before = snapshot(container);
  NetworkPlan broken = two_rails();
  broken.prohibited = plan().prohibited;
  broken.rails[1].parent = "absent0";
  EXPECT_FALSE(attach(broken, host(), container).ok());
  EXPECT_EQ(snapshot(container), before);
  EXPECT_EQ(connect_tcp({container}, own_, peer_.port), 0);
  EXPECT_NE(connect_tcp({container, "roce0"}, other_, stranger_.port, kQuiet), 0);
}

TEST_F(RailsTest, CannotHaveTheSameNameOrMac) {
  const Namespace container = make_namespace();
  const std::string before = snapshot(container);
  NetworkPlan same_name = two_rails();
  same_name.rails[1].interface = "roce0";
  EXPECT_EQ(attach(same_name, host(), container).error().code(), Code::kInvalid);
  NetworkPlan same_mac = two_rails();
  same_mac.rails[1].mac = same_mac.rails[0].mac;
  EXPECT_EQ(attach(same_mac, host(), container).error().code(), Code::kInvalid);
  EXPECT_EQ(snapshot(container), before);
}

// Two containers of one parent, each the other's peer.
class MembersTest : public World {
 protected:
  // Whether the first reaches the second by RoCE v2 and by ping.
  void attach_members(MacvlanMode mode) {
    for (uint8_t n = 1; n <= 2; ++n) {
      NetworkPlan member = plan(n);
      member.rails[0].mode = mode;
      member.rails[0].peers.push_back(Peer{ip(n == 1 ? "10.5.200.2" : "10.5.200.1"), 0});
      must(attach(member, host(), n == 1 ? one_ : two_));
      allow_ping(n == 1 ? one_ : two_);
    }
  }
  const Namespace one_ = make_namespace();
  const Namespace two_ = make_namespace();
};

TEST_F(MembersTest, ReachEachOtherInBridgeMode) {
  attach_members(MacvlanMode::kBridge);
  const Service roce = serve_udp(two_, ip("10.5.200.2"), 4791);
  EXPECT_TRUE(send_udp({one_}, ip("10.5.200.2"), roce));
  EXPECT_EQ(ping({one_}, ip("10.5.200.2")), 0);
  EXPECT_EQ(connect_tcp({one_}, own_, peer_.port), 0);
}

TEST_F(MembersTest, DoNotReachEachOtherInPrivateMode) {
  attach_members(MacvlanMode::kPrivate);
  const Service roce = serve_udp(two_, ip("10.5.200.2"), 4791);
  EXPECT_FALSE(send_udp({one_}, ip("10.5.200.2"), roce));
  EXPECT_NE(ping({one_}, ip("10.5.200.2"), kQuiet), 0);
  EXPECT_EQ(connect_tcp({one_}, own_, peer_.port), 0);
}

class PeersTest : public World {
 protected:
  // A connection of the container to the first endpoint, both ends.
  void connect_to_peer(const Namespace& container) {
    client_ = make_socket({container}, SOCK_STREAM, own_);
    const SocketAddress address = socket_address(own_, peer_.port);
    ASSERT_EQ(connect(client_.get(), address.get(), address.size), 0);
    server_ = base::Fd(accept4(peer_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
    ASSERT_TRUE(server_.valid());
  }
  // Whether a byte gets from one end of it to the other and back.
  bool is_alive() { return passes(client_, server_) && passes(server_, client_); }
  NetworkPlan with_both() const {
    NetworkPlan both = plan();
    both.rails[0].peers.push_back(Peer{other_, stranger_.port});
    return both;
  }
  NetworkPlan with_the_other() const {
    NetworkPlan other = plan();
    other.rails[0].peers = {Peer{other_, stranger_.port}};
    return other;
  }

 private:
  static bool passes(const base::Fd& from, const base::Fd& to) {
    if (send(from.get(), "x", 1, MSG_NOSIGNAL) != 1) return false;
    pollfd poll_fd{.fd = to.get(), .events = POLLIN, .revents = 0};
    char byte = 0;
    return poll(&poll_fd, 1, static_cast<int>(kPatience.count())) == 1 &&
           recv(to.get(), &byte, 1, 0) == 1;
  }
  base::Fd client_;
  base::Fd server_;
};

TEST_F(PeersTest, AreAddedWhileAConnectionStaysUp) {
  const Namespace container = make_namespace();
  const auto before = must(attach(plan(), host(), container));
  connect_to_peer(container);
  EXPECT_NE(connect_tcp({container}, other_, stranger_.port, kQuiet), 0);
  const auto after = must(attach(with_both(), host(), container));
  EXPECT_EQ(after[0].index, before[0].index);
  EXPECT_EQ(connect_tcp({container}, other_, stranger_.port), 0);
  EXPECT_TRUE(is_alive());
}

TEST_F(PeersTest, AreRemovedWhileTheConnectionOfAnotherStaysUp) {
  const Namespace container = make_namespace();
  must(attach(with_both(), host(), container));
  connect_to_peer(container);
  must(attach(plan(), host(), container));
  EXPECT_EQ(run_ip(container, "-4 route show"),
            "10.5.1.1 dev roce0 proto static scope link src 10.5.200.1 \n");
  EXPECT_EQ(connect_tcp({container}, other_, stranger_.port, kQuiet), EACCES);
  EXPECT_EQ(connect_tcp({container, "roce0"}, other_, stranger_.port, kQuiet), ECONNREFUSED);
  EXPECT_TRUE(is_alive());
}

TEST_F(PeersTest, ThatAreRemovedLoseTheirConnections) {
  const Namespace container = make_namespace();
  must(attach(plan(), host(), container));
  connect_to_peer(container);
  must(attach(with_the_other(), host(), container));
  EXPECT_FALSE(is_alive());
  EXPECT_EQ(connect_tcp({container}, other_, stranger_.port), 0);
}

TEST_F(PeersTest, MoveFromOneInterfaceToAnother) {
  add_second_fabric();
  const Namespace container = make_namespace();
  must(attach(two_rails(), host(), container));
  NetworkPlan moved = two_rails();
  moved.rails[1].peers.push_back(moved.rails[0].peers[0]);
  moved.rails[0].peers = {Peer{other_, stranger_.port}};
  must(attach(moved, host(), container));
  EXPECT_EQ(connect_tcp({container}, other_, stranger_.port), 0);
  EXPECT_THAT(run_ip(container, "-4 route show"), HasSubstr("10.5.1.1 dev roce1 "));
}

TEST_F(PeersTest, ChangeNothingWhenOneIsAnotherInterfacesAlready) {
  const Namespace container = make_namespace();
  must(attach(plan(), host(), container));
  add_spare_link(container, "eth0", "02:00:00:00:00:07");
  run_ip(container, "route add 10.5.1.2/32 dev eth0");
  const std::string before = snapshot(container);
  NetworkPlan three = with_both();
  three.rails[0].peers.push_back(Peer{ip("10.5.1.3"), 9});
  EXPECT_EQ(attach(three, host(), container).error().code(), Code::kExists);
  EXPECT_EQ(snapshot(container), before);
  EXPECT_EQ(connect_tcp({container}, own_, peer_.port), 0);
}

TEST_F(PeersTest, ProhibitedPrefixesChangeWithThePlan) {
  const Namespace container = make_namespace();
  NetworkPlan two = plan();
  two.prohibited.push_back(must(parse_prefix("192.0.2.0/24")));
  two.prohibited.push_back(must(parse_prefix("2001:db8::/32")));
  must(attach(two, host(), container));
  EXPECT_THAT(run_ip(container, "-4 route show table 4791"), HasSubstr("prohibit 192.0.2.0/24"));
  EXPECT_THAT(run_ip(container, "-6 route show table 4791"), HasSubstr("prohibit 2001:db8::/32"));
  must(attach(plan(), host(), container));
  EXPECT_THAT(run_ip(container, "-4 route show table 4791"),
              AllOf(HasSubstr("prohibit 10.5.0.0/16"), Not(HasSubstr("192.0.2.0"))));
  EXPECT_EQ(run_ip(container, "-6 route show table 4791"), "");
}

TEST_F(PeersTest, OfAnotherFamilyAreRefused) {
  const Namespace container = make_namespace();
  NetworkPlan mixed = plan();
  mixed.rails[0].peers.push_back(Peer{own_ipv6_, 9});
  const auto result = attach(mixed, host(), container);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), Code::kInvalid);
  EXPECT_THAT(result.error().message(), HasSubstr("fd00:5::1"));
}

}  // namespace
}  // namespace netns
