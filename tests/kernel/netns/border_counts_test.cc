// SPDX-License-Identifier: Apache-2.0
// What the border says that it has dropped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "netns/attach.h"
#include "netns/border.h"
#include "netns/filter.h"
#include "tests/kernel/netns/world.h"

namespace netns {
namespace {

using testing::IsEmpty;

class BorderCountsTest : public World, public ::testing::WithParamInterface<FilterPlace> {
 protected:
  std::map<std::string, uint64_t> counts() const {
    std::map<std::string, uint64_t> all;
    for (const Dropped& each : must(dropped_frames(host())))
      all[each.chain + ": " + each.rule] += each.frames;
    return all;
  }
  void build() const {
    const NetworkPlan of = plan();
    const RailPlan& rail = of.rails[0];
    must(build_border(host(), GetParam(), {{"host0", Others::kDrop}},
                      {{"lease-1", rail.mac, rail.address, rail.peers}}));
  }
};

TEST_P(BorderCountsTest, NothingWithoutABorder) { EXPECT_THAT(counts(), IsEmpty()); }

TEST_P(BorderCountsTest, ARuleIsThereBeforeItHasDroppedAnything) {
  build();
  EXPECT_EQ(counts(), (std::map<std::string, uint64_t>{
                          {"egress-host0: ARP of the host with another MAC", 0},
                          {"egress-host0: others", 0},
                          {"from-container: all else", 0},
                          {"from-ipv6: other discovery", 0},
                          {"no-container: VLAN 0", 0},
                          {"no-container: VLAN 0 of a provider", 0},
                          {"no-container: claims an IPv4 address", 0},
                          {"no-container: claims an IPv6 address", 0},
                          {"no-container: claims an address by ARP", 0},
                          {"to-container: all else", 0},
                      }));
}

TEST_P(BorderCountsTest, WhatAContainerMayNotSendIsCounted) {
  const Namespace container = make_namespace();
  must(attach(plan(), host(), container));
  must(remove_filter(container));
  run_ip(container, "route replace 10.5.0.0/16 dev roce0 metric 1");
  build();
  const uint64_t before = counts().at("from-container: all else");
  EXPECT_EQ(connect_tcp({container}, own_, peer_.port), 0);
  EXPECT_EQ(counts().at("from-container: all else"), before) << "this passes";
  EXPECT_NE(connect_tcp({container}, other_, stranger_.port, kQuiet), 0);
  EXPECT_GT(counts().at("from-container: all else"), before);
  build();
  EXPECT_EQ(counts().at("from-container: all else"), 0U) << "it begins again with the border";
  must(remove_border(host()));
  EXPECT_THAT(counts(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Carriers, BorderCountsTest,
                         ::testing::Values(FilterPlace::kNftables, FilterPlace::kTc),
                         [](const auto& way) {
                           return way.param == FilterPlace::kTc ? "Tc" : "Nftables";
                         });

}  // namespace
}  // namespace netns
