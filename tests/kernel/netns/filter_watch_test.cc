// SPDX-License-Identifier: Apache-2.0
#include "netns/filter_watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "netns/border.h"
#include "netns/filter.h"
#include "netns/guard.h"
#include "tests/kernel/netns/world.h"

namespace netns {
namespace {

using Seen = FilterWatch::Seen;

class FilterWatchTest : public World {
 protected:
  void SetUp() override {
    World::SetUp();
    if (IsSkipped()) return;
    watch_.emplace(must(FilterWatch::open(host())));
  }
  Seen seen() { return must(watch_->read()); }
  BorderMember member() {
    const NetworkPlan one = plan();
    return {"lease", one.rails[0].mac, one.rails[0].address, one.rails[0].peers};
  }

  std::optional<FilterWatch> watch_;
};

TEST_F(FilterWatchTest, SeesThatATableIsRemoved) {
  ASSERT_TRUE(build_border(host(), FilterPlace::kNftables, {{"host0", Others::kDrop}}, {}).ok());
  must(ensure_guard(host(), {{"host0"}, {}, {}}));
  (void)seen();
  EXPECT_EQ(seen(), Seen::kNothing);
  must(remove_guard(host()));
  EXPECT_EQ(seen(), Seen::kRemoval);
  EXPECT_EQ(seen(), Seen::kNothing);
  must(remove_border(host()));
  EXPECT_EQ(seen(), Seen::kRemoval);
}

TEST_F(FilterWatchTest, DoesNotMindAdditionsAndOtherTables) {
  ASSERT_TRUE(build_border(host(), FilterPlace::kNftables, {{"host0", Others::kDrop}}, {}).ok());
  (void)seen();
  ASSERT_TRUE(admit(host(), {member()}).ok());
  ASSERT_TRUE(install_filter(plan(), host()).ok());
  must(remove_filter(host()));
  EXPECT_EQ(seen(), Seen::kNothing);
}

// More events than the kernel keeps for this socket.
TEST_F(FilterWatchTest, TakesAFloodForARemoval) {
  ASSERT_TRUE(build_border(host(), FilterPlace::kNftables, {{"host0", Others::kDrop}}, {}).ok());
  std::vector<BorderMember> members(1000, member());
  for (uint32_t n = 0; n < members.size(); ++n) {
    members[n].address = ipv4(0x0a056400 + n);
    std::copy_n(members[n].address.raw().begin(), 4, members[n].mac.bytes.begin() + 2);
  }
  (void)seen();
  for (int i = 0; i < 10; ++i) {
    for (BorderMember& member : members) member.peers[0].port = static_cast<uint16_t>(1 + i);
    ASSERT_TRUE(admit(host(), members).ok());
  }
  EXPECT_EQ(seen(), Seen::kRemoval);
}

}  // namespace
}  // namespace netns
