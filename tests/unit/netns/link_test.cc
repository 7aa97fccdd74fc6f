// SPDX-License-Identifier: Apache-2.0
// What links mean for a rail where the kernel of the test machine cannot make such links.
#include "netns/link.h"

#include <gtest/gtest.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "netns/internal/link_facts.h"
#include "netns/internal/nl.h"

namespace netns {
namespace {

LinkFacts good_link() {
  LinkFacts link;
  link.name = "rnic0";
  link.mtu = 1500;
  link.is_ethernet = link.is_up = link.has_carrier = true;
  return link;
}

TEST(WhyNoRail, IsNothingForAnEthernetLinkThatIsUp) {
  EXPECT_EQ(why_no_rail(good_link(), 0), "");
  EXPECT_EQ(why_no_rail(good_link(), 1500), "");
  LinkFacts bond = good_link();
  bond.kind = "bond";
  EXPECT_EQ(why_no_rail(bond, 0), "");
}

TEST(WhyNoRail, TellsWhatALinkBelongsTo) {
  LinkFacts link = good_link();
  link.master = "bond0";
  link.master_kind = "bond";
  EXPECT_EQ(why_no_rail(link, 0), "'rnic0' is a part of the bond 'bond0'; name 'bond0' instead");
  EXPECT_EQ(why_no_function(link, 0),
            "'rnic0' is a part of the bond 'bond0'; take it out: ip link set rnic0 nomaster");
  link.master = "ovs-system";
  link.master_kind = "openvswitch";
  EXPECT_EQ(why_no_rail(link, 0),
            "'rnic0' is a port of the openvswitch 'ovs-system'; take it out:"
            " ovs-vsctl del-port rnic0");
  link.master_kind = "vrf";
  EXPECT_EQ(why_no_rail(link, 0), "");
}

TEST(WhyNoRail, TellsThatALinkIsOfTheWrongSort) {
  LinkFacts link = good_link();
  link.is_ethernet = false;
  EXPECT_NE(why_no_rail(link, 0).find("'rnic0' is not an Ethernet interface"), std::string::npos);
  link = good_link();
  link.is_wireless = true;
  EXPECT_NE(why_no_rail(link, 0).find("'rnic0' is a wireless interface"), std::string::npos);
  EXPECT_NE(why_no_function(link, 0).find("'rnic0' is a wireless interface"), std::string::npos);
}

TEST(WhyNoRail, NamesTheInterfaceBelowAMacvlan) {
  LinkFacts link = good_link();
  link.kind = "macvlan";
  EXPECT_EQ(why_no_rail(link, 0), "'rnic0' is a macvlan; name the interface below it instead");
  link.below = {"eth1"};
  EXPECT_EQ(why_no_rail(link, 0),
            "'rnic0' is a macvlan; name the interface below it instead, 'eth1'");
  EXPECT_EQ(why_no_function(link, 0), "");
}

TEST(WhyNotAbove, TellsThatOneParentCarriesTheFramesOfTheOther) {
  LinkFacts vlan = good_link();
  vlan.name = "rnic0.7";
  vlan.kind = "vlan";
  EXPECT_EQ(why_not_above(vlan, good_link()), "");
  vlan.below = {"bond0", "rnic0"};
  EXPECT_EQ(why_not_above(vlan, good_link()),
            "'rnic0.7' is above 'rnic0', the parent of another rail, whose border drops its"
            " frames; remove one of the two rails from the configuration");
  EXPECT_EQ(why_not_above(good_link(), vlan), "");
  EXPECT_EQ(why_no_rail(vlan, 0), "") << "alone it is a good parent";
}

internal::LinkAnswer answer_of(const char* kind, std::optional<uint32_t> netns_id = {}) {
  nl::Message message(RTM_NEWLINK, 0, "");
  message.header(ifinfomsg{});
  message.put_u32(IFLA_LINK, 5);
  if (netns_id) message.put_u32(IFLA_LINK_NETNSID, *netns_id);
  message.nest(IFLA_LINKINFO, [&] { message.put_text(IFLA_INFO_KIND, kind); });
  return internal::parse_link_facts(*message.raw());
}

TEST(ParseLinkFacts, TellsWhatIsBelow) {
  EXPECT_EQ(answer_of("vlan").below, 5U);
  EXPECT_EQ(answer_of("macvlan").below, 5U);
  EXPECT_EQ(answer_of("macvlan", 0).below, 0U) << "the index is of another namespace";
  EXPECT_EQ(answer_of("veth").below, 0U) << "that is its peer";
}

std::optional<std::string> hold_by(const char* kind, std::optional<uint32_t> mode = {}) {
  nl::Message message(RTM_NEWLINK, 0, "");
  message.header(ifinfomsg{});
  message.nest(IFLA_LINKINFO, [&] {
    message.put_text(IFLA_INFO_KIND, kind);
    message.nest(IFLA_INFO_DATA, [&] {
      if (mode) message.put_u32(IFLA_MACVLAN_MODE, *mode);
    });
  });
  return internal::parse_hold(*message.raw());
}

TEST(ParseHold, TellsHowALinkHoldsItsParent) {
  EXPECT_EQ(hold_by("ipvlan"), "an ipvlan");
  EXPECT_EQ(hold_by("ipvtap"), "an ipvtap");
  EXPECT_EQ(hold_by("macsec"), "a macsec");
  EXPECT_EQ(hold_by("macvlan", MACVLAN_MODE_PASSTHRU), "a macvlan in mode passthru");
  EXPECT_EQ(hold_by("macvtap", MACVLAN_MODE_PASSTHRU), "a macvtap in mode passthru");
  EXPECT_EQ(hold_by("macvlan", MACVLAN_MODE_PRIVATE), "");
  EXPECT_EQ(hold_by("macvlan"), "");
  EXPECT_EQ(hold_by("vlan"), std::nullopt);
  EXPECT_EQ(hold_by(""), std::nullopt);
}

}  // namespace
}  // namespace netns
