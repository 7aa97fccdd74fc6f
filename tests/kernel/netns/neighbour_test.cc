// SPDX-License-Identifier: Apache-2.0
// Whom the kernel of a container asks the fabric for. RDMA passes no packet filter, but without the
// MAC of its destination the kernel makes no connection, and it gets that as it does for IP: by a
// neighbour entry, which `ip neighbour ... use` makes it look for.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "netns/attach.h"
#include "netns/filter.h"
#include "tests/kernel/netns/capture.h"
#include "tests/kernel/netns/world.h"

namespace netns {
namespace {

using base::str;

class NeighbourTest : public World {
 protected:
  void SetUp() override {
    World::SetUp();
    container_ = make_namespace();
    silence_the_wire();
    wire_.emplace(fabric(), "fab0");
  }
  // Whether the kernel asks the fabric for ADDRESS when it needs its MAC.
  bool asks_for(const Address& address) {
    (void)wire_->frames(std::chrono::milliseconds(50));  // from before
    // An entry that was asked for in vain asks again a second later only.
    run_ip(*container_, str("neighbour flush to ", to_string(address), " dev roce0 nud all"));
    run_ip(*container_, str("neighbour replace ", to_string(address), " dev roce0 use"));
    const std::vector<Frame> frames = wire_->frames(std::chrono::milliseconds(300));
    return std::any_of(frames.begin(), frames.end(), [&](const Frame& frame) {
      return frame.kind == FrameKind::kArp && frame.destination == address;
    });
  }

  std::optional<Namespace> container_;
  std::optional<Capture> wire_;
};

TEST_F(NeighbourTest, IsAPeerAndNobodyElse) {
  must(attach(plan(), host(), *container_));
  EXPECT_TRUE(asks_for(own_));
  EXPECT_FALSE(asks_for(other_));
  EXPECT_FALSE(asks_for(host_address_));
  EXPECT_FALSE(asks_for(ip("10.5.200.2"))) << "another container";
  EXPECT_FALSE(asks_for(ip("10.1.3.101"))) << "a fabric that answers for every address";
  must(remove_filter(*container_));
  EXPECT_TRUE(asks_for(ip("10.5.1.78"))) << "the filter it was that held it";
}

TEST_F(NeighbourTest, FollowsThePeersOfThePlan) {
  NetworkPlan changed = plan();
  must(attach(changed, host(), *container_));
  EXPECT_FALSE(asks_for(other_));
  changed.rails[0].peers = {{other_, 0}};
  must(attach(changed, host(), *container_));
  EXPECT_TRUE(asks_for(other_));
  EXPECT_FALSE(asks_for(ip("10.5.1.79")));
}

TEST_F(NeighbourTest, IsForgottenWhenItIsNoPeerAnyMore) {
  NetworkPlan changed = plan();
  must(attach(changed, host(), *container_));
  EXPECT_EQ(connect_tcp({*container_}, own_, peer_.port), 0);
  EXPECT_NE(run_ip(*container_, "neighbour show dev roce0").find(to_string(own_)),
            std::string::npos);
  changed.rails[0].peers = {{other_, 0}};
  must(attach(changed, host(), *container_));
  EXPECT_EQ(run_ip(*container_, "neighbour show dev roce0").find(to_string(own_)),
            std::string::npos);
  EXPECT_FALSE(asks_for(own_));
}

// Whoever looks for duplicates must find this one.
TEST_F(NeighbourTest, IsAnsweredWhoeverAsks) {
  must(attach(plan(), host(), *container_));
  (void)wire_->frames(std::chrono::milliseconds(300));
  const RailPlan rail = plan().rails[0];
  wire_->ask(rail.address, Address(), parse_mac("52:54:00:00:00:77").take());
  const std::vector<Frame> frames = wire_->frames(std::chrono::milliseconds(300));
  EXPECT_TRUE(std::any_of(frames.begin(), frames.end(), [&](const Frame& frame) {
    return frame.kind == FrameKind::kArp && frame.source == rail.address;
  }));
}

// `docker run --sysctl net.ipv4.conf.all.proxy_arp=1`, after the container was attached.
TEST_F(NeighbourTest, AnswersForNoAddressOfOthers) {
  must(attach(plan(), host(), *container_));
  add_docker_network(*container_);
  write_in(*container_, "/proc/sys/net/ipv4/conf/all/proxy_arp", "1");
  write_in(*container_, "/proc/sys/net/ipv4/conf/all/forwarding", "1");
  write_in(*container_, "/proc/sys/net/ipv4/conf/roce0/arp_ignore", "0");
  (void)wire_->frames(std::chrono::milliseconds(300));
  for (const Address& address : {ip("172.30.1.2"), ip("8.8.8.8")}) {
    wire_->ask(address, own_, parse_mac("52:54:00:00:00:77").take());
    for (const Frame& frame : wire_->frames(std::chrono::milliseconds(1000))) {
      EXPECT_FALSE(frame.kind == FrameKind::kArp && frame.source == address) << to_string(frame);
    }
  }
}

}  // namespace
}  // namespace netns
