// SPDX-License-Identifier: Apache-2.0
// What the border by tc shares with other users of tc on the same parent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "base/bpf.h"
#include "base/text.h"
#include "netns/border.h"
#include "netns/internal/border/tc_filter.h"
#include "tests/kernel/netns/world.h"
#include "tests/support/outcome.h"

namespace netns {
namespace {

using base::Code;
using base::Removed;
using base::str;
using testing::HasSubstr;
using testing::Not;

const std::vector<BorderParent> kParents{{"host0", Others::kDrop}};

class BorderTcTest : public World {
 protected:
  base::Result<FilterPlace> build() { return build_border(host(), FilterPlace::kTc, kParents, {}); }
  bool stands() const { return must(border_stands(host(), FilterPlace::kTc, kParents)); }
  std::string run_tc(const std::string& arguments) const {
    return run_tool(host(), "/sbin/tc", arguments);
  }
  // Classic BPF that takes every frame for its class, as tc(8) writes it.
  void add_foreign_filter(int priority, int chain = 0) const {
    run_tc(str("filter add dev host0 egress chain ", chain, " protocol all prio ", priority,
               " bpf bytecode 1,6\t0\t0\t4294967295"));
  }
};

TEST_F(BorderTcTest, IsGoneWithoutATrace) {
  const std::string before = run_tc("qdisc show");
  must(build());
  EXPECT_THAT(run_tc("filter show dev host0 egress"), HasSubstr("ipu-border"));
  EXPECT_THAT(run_tc("filter show dev host0 ingress"), HasSubstr("ipu-border"));
  EXPECT_EQ(must(remove_border(host())), Removed::kNow);
  EXPECT_EQ(must(remove_border(host())), Removed::kWasAbsent);
  EXPECT_EQ(run_tc("qdisc show"), before);
}

// Builds before this one named their filters after one map alone.
TEST_F(BorderTcTest, OfAnOlderBuildIsBuiltAgain) {
  must(build());
  nl::Socket socket = must(nl::Socket::open(host(), NETLINK_ROUTE));
  for (const tc::Qdisc& qdisc : must(tc::find_qdiscs(socket))) {
    for (const tc::Direction direction : tc::kDirections) {
      for (const tc::Filter& filter :
           must(tc::find_filters(socket, qdisc.interface, direction, tc::Which::kFirst))) {
        const std::string older = filter.name.substr(0, filter.name.find(','));
        ASSERT_NE(older, filter.name);
        const base::Fd program = must(base::bpf::open_program(filter.program));
        ASSERT_TRUE(
            test::succeeds(tc::put_filter(socket, qdisc.interface, direction, program, older)));
      }
    }
  }
  EXPECT_FALSE(stands());
  must(build());
  EXPECT_TRUE(stands());
}

TEST_F(BorderTcTest, LeavesTheFiltersOfOthers) {
  run_tc("qdisc add dev host0 clsact");
  add_foreign_filter(10);
  must(build());
  EXPECT_TRUE(stands());
  EXPECT_EQ(must(remove_border(host())), Removed::kNow);
  EXPECT_THAT(run_tc("filter show dev host0 egress"), HasSubstr("pref 10 bpf"));
}

// A filter that decides first could let everything pass.
TEST_F(BorderTcTest, DoesNotStandBehindAnother) {
  must(build());
  add_foreign_filter(1);
  EXPECT_FALSE(stands());
  EXPECT_TRUE(test::fails(build(), Code::kDenied, "of another program has priority 1"));
  must(remove_border(host()));
  EXPECT_TRUE(test::fails(build(), Code::kDenied, "give it a priority of 2 or more"));
  EXPECT_THAT(run_tc("filter show dev host0 egress"), Not(HasSubstr("ipu-border")));
}

TEST_F(BorderTcTest, StandsBeforeFiltersOfOtherChainsAndPriorities) {
  run_tc("qdisc add dev host0 clsact");
  add_foreign_filter(1, 5);
  for (int i = 2; i < 200; ++i) add_foreign_filter(i);
  must(build());
  EXPECT_TRUE(stands());
}

// The kernel would take a filter of what leaves for one of what arrives.
TEST_F(BorderTcTest, DoesNotStandOnAQdiscThatCannotFilterWhatLeaves) {
  run_tc("qdisc add dev host0 ingress");
  EXPECT_TRUE(test::fails(build(), Code::kDenied, "'host0': it has a qdisc 'ingress'"));
  EXPECT_EQ(run_tc("filter show dev host0 ingress"), "");
}

TEST_F(BorderTcTest, StandsOnAnInterfaceThatIsNamedTwice) {
  run_ip(host(), "link property add dev host0 altname second");
  const std::vector<BorderParent> both{{"host0", Others::kDrop}, {"second", Others::kDrop}};
  must(build_border(host(), FilterPlace::kTc, both, {}));
  EXPECT_TRUE(must(border_stands(host(), FilterPlace::kTc, both)));
}

TEST_F(BorderTcTest, IsMissedWhenItsClsactIsGone) {
  must(build());
  run_tc("qdisc del dev host0 clsact");
  EXPECT_FALSE(stands());
  EXPECT_TRUE(test::fails(admit(host(), {{"lease", {{2, 0, 0, 0, 0, 1}}, own_, {}}}),
                          Code::kNotFound, "no border"));
  must(build());
  EXPECT_TRUE(stands());
}

TEST_F(BorderTcTest, IsNotTakenForTheRulesOfOtherParents) {
  add_second_fabric();
  must(build_border(host(), FilterPlace::kTc, {{"host0", Others::kDrop}, {"host1", Others::kDrop}},
                    {}));
  EXPECT_FALSE(stands()) << "a rail is gone from the configuration";
  must(build());
  EXPECT_TRUE(stands());
  EXPECT_THAT(run_tc("filter show dev host1 egress"), Not(HasSubstr("ipu-border")));
}

TEST_F(BorderTcTest, CountsWhatItDrops) {
  const Namespace container = make_namespace();
  run_ip(host(), "link add foreign0 link host0 type macvlan");
  run_ip(host(), str("link set foreign0 netns ", path_of(container)));
  must(build());
  run_ip(container, "address add 10.5.77.1/16 dev foreign0");
  run_ip(container, "link set foreign0 up");
  EXPECT_NE(connect_tcp({container}, own_, peer_.port, std::chrono::milliseconds(200)), 0);
  EXPECT_THAT(run_tc("-s qdisc show dev host0 clsact"), Not(HasSubstr("dropped 0")));
}

}  // namespace
}  // namespace netns
