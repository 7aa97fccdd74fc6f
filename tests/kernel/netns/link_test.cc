// SPDX-License-Identifier: Apache-2.0
#include "netns/link.h"

#include <gtest/gtest.h>

#include "base/names.h"
#include "netns/session.h"
#include "tests/kernel/netns/wire.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace netns {
namespace {

using namespace base::names;

class LinkTest : public Wire {
 protected:
  LinkFacts inspect(const std::string& name) {
    return take(inspect_link(here(), name, "/no/sys", Taker::kLookFor));
  }
  // The sentence, or "" if it can be a rail's parent.
  std::string why(const std::string& name, uint32_t mtu = 0) {
    return why_no_rail(inspect(name), mtu);
  }
};

TEST_F(LinkTest, IsDescribedAsTheKernelHasIt) {
  const LinkFacts facts = inspect("nic");
  EXPECT_GT(facts.index, 0U);
  EXPECT_EQ(facts.name, "nic");
  EXPECT_EQ(facts.kind, "veth");
  EXPECT_EQ(to_string(facts.mac), "02:00:00:00:00:01");
  EXPECT_EQ(facts.mtu, 1500U);
  EXPECT_EQ(facts.max_mtu, 65535U);
  EXPECT_TRUE(facts.is_ethernet);
  EXPECT_FALSE(facts.is_loopback);
  EXPECT_FALSE(facts.is_wireless);
  EXPECT_TRUE(facts.is_up);
  EXPECT_TRUE(facts.has_carrier);
  EXPECT_EQ(facts.master, "");
  EXPECT_EQ(facts.taken_by, "");
  EXPECT_EQ(why_no_rail(facts, 0), "");
  EXPECT_EQ(why_no_rail(facts, 1500), "");
  EXPECT_EQ(why_no_function(facts, 65535), "");
}

TEST_F(LinkTest, IsFoundByItsAlternativeNames) {
  run(here(), "link property add dev nic altname rnic");
  run(here(), "link property add dev nic altname an-alternative-name-of-much-length");
  EXPECT_EQ(inspect("rnic").name, "nic");
  EXPECT_EQ(inspect("an-alternative-name-of-much-length").name, "nic");
}

TEST_F(LinkTest, SaysWhatToDoWhereThereIsNone) {
  for (const std::string& name : {std::string("rnic9"), std::string(), std::string(200, 'x')}) {
    EXPECT_TRUE(test::fails(inspect_link(here(), name, "/sys", Taker::kLookFor), Code::kNotFound,
                            str("no interface ", base::quote(name))));
  }
}

TEST_F(LinkTest, IsNoRailWhenItIsTheLoopback) {
  EXPECT_TRUE(inspect("lo").is_loopback);
  EXPECT_NE(why("lo").find("'lo' is the loopback interface"), std::string::npos);
  EXPECT_NE(why_no_function(inspect("lo"), 0).find("loopback"), std::string::npos);
}

TEST_F(LinkTest, IsNoRailWhileItIsDown) {
  run(here(), "link set nic down");
  EXPECT_FALSE(inspect("nic").is_up);
  EXPECT_EQ(why("nic"), "'nic' is down; set it up: ip link set nic up");
  EXPECT_EQ(why_no_function(inspect("nic"), 0), "");
}

TEST_F(LinkTest, IsARailWithoutACarrier) {
  run(there(), "link set far down");
  EXPECT_TRUE(inspect("nic").is_up);
  EXPECT_FALSE(inspect("nic").has_carrier);
  EXPECT_EQ(why("nic"), "");
}

TEST_F(LinkTest, IsNoRailForAnMtuAboveItsOwn) {
  run(here(), "link set nic mtu 9000");
  EXPECT_EQ(why("nic", 9000), "");
  EXPECT_EQ(why("nic", 9001),
            "MTU 9001 is above the MTU 9000 of 'nic'; lower 'mtu' of network.rail, or raise the "
            "MTU of the interface");
  EXPECT_NE(why_no_function(inspect("nic"), 65536).find("65535"), std::string::npos);
}

TEST_F(LinkTest, IsNoRailWhileABridgeHasIt) {
  run(here(), "link add br0 type bridge");
  run(here(), "link set nic master br0");
  EXPECT_EQ(inspect("nic").master, "br0");
  EXPECT_EQ(inspect("nic").master_kind, "bridge");
  const std::string expected =
      "'nic' is a port of the bridge 'br0'; take it out: ip link set nic nomaster";
  EXPECT_EQ(why("nic"), expected);
  EXPECT_EQ(why_no_function(inspect("nic"), 0), expected);
  EXPECT_EQ(inspect("br0").kind, "bridge");
}

TEST_F(LinkTest, IsNoRailWhileAPassthruMacvlanOfAnotherNamespaceHasIt) {
  const Namespace container = add_namespace();
  run(here(), "link add mac0 link nic type macvlan mode passthru");
  EXPECT_EQ(inspect("nic").taken_by, "a macvlan in mode passthru");
  EXPECT_EQ(why("nic"),
            "'nic' is in exclusive use by a macvlan in mode passthru; remove that interface first");
  run(here(), "link set mac0 netns " + path_of(container));
  EXPECT_EQ(inspect("nic").taken_by, "a macvlan in mode passthru");
}

TEST_F(LinkTest, KnowsWhatIsBelow) {
  run(here(), "link add mac0 link nic type macvlan mode private");
  EXPECT_EQ(inspect("nic").below, std::vector<std::string>());
  EXPECT_EQ(inspect("mac0").below, std::vector<std::string>{"nic"});
  run(here(), "link set mac0 up");
  EXPECT_EQ(why("mac0"), "'mac0' is a macvlan; name the interface below it instead, 'nic'");
}

TEST_F(LinkTest, IsARailBesideOtherMacvlans) {
  const Namespace container = add_namespace();
  run(here(), "link add mac0 link nic type macvlan mode private");
  EXPECT_EQ(why("nic"), "");
  run(here(), "link set mac0 netns " + path_of(container));
  EXPECT_EQ(why("nic"), "");
}

TEST_F(LinkTest, IsNotConfusedByTheLinksOfAnotherHost) {
  // The same index as "nic" has here, but of another namespace.
  const Namespace other = add_namespace();
  const uint32_t index = inspect("nic").index;
  run(other, str("link add nic index ", index, " type veth peer name x"));
  run(other, "link add mac0 link nic type macvlan mode passthru");
  ASSERT_TRUE(take(Session::open(here())).ensure_netns_id(other).ok());
  EXPECT_EQ(inspect("nic").taken_by, "");
  const Namespace container = add_namespace();
  run(other, "link set mac0 netns " + path_of(container));
  ASSERT_TRUE(take(Session::open(here())).ensure_netns_id(container).ok());
  EXPECT_EQ(inspect("nic").taken_by, "");
}

TEST_F(LinkTest, IsWirelessBySysfs) {
  const test::TempDir sysfs;
  EXPECT_FALSE(take(inspect_link(here(), "nic", sysfs.path(), Taker::kSkip)).is_wireless);
  ASSERT_TRUE(test::succeeds(base::ensure_dir(sysfs / "class/net/nic/wireless", 0755)));
  EXPECT_TRUE(take(inspect_link(here(), "nic", sysfs.path(), Taker::kSkip)).is_wireless);
  const test::TempDir newer;
  ASSERT_TRUE(test::succeeds(base::ensure_dir(newer / "class/net/nic/phy80211", 0755)));
  const LinkFacts facts = take(inspect_link(here(), "nic", newer.path(), Taker::kSkip));
  EXPECT_EQ(why_no_rail(facts, 0),
            "'nic' is a wireless interface, which cannot carry RoCE; name the RNIC's interface");
}

}  // namespace
}  // namespace netns
