// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/end/effects.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "tests/support/hook_host.h"
#include "tests/support/outcome.h"

namespace hook::lifecycle::end {
namespace {

class EffectsTest : public testing::Test {
 protected:
  static const Effect& effect(std::string_view name) {
    return *std::find_if(effects().begin(), effects().end(),
                         [&](const Effect& row) { return row.name == name; });
  }
  Presence probe(std::string_view name, const ledger::Lease& lease) {
    return effect(name).probe(host_.env, lease, test::HookHost::soon()).take();
  }
  base::Status undo(std::string_view name, const ledger::Lease& lease) {
    return effect(name).undo(host_.env, lease, test::HookHost::soon());
  }

  test::HookHost host_;
};

TEST_F(EffectsTest, WaitForNoneButOneThatIsUndoneBefore) {
  std::set<std::string_view> before = {""};
  for (const Effect& row : effects()) {
    for (const std::string_view other : row.after) EXPECT_TRUE(before.contains(other)) << row.name;
    EXPECT_TRUE(before.insert(row.name).second) << row.name;
  }
  EXPECT_EQ(effect(kPartition).after[0], kInterfaces);
}

TEST_F(EffectsTest, AreThereUntilTheyAreUndoneAndMayBeUndoneTwice) {
  const ledger::Lease lease = host_.start("c1", 4);
  for (const std::string_view name : {kPartition, kFiles}) {
    EXPECT_EQ(probe(name, lease), Presence::kThere) << name;
    EXPECT_TRUE(test::succeeds(undo(name, lease))) << name;
    EXPECT_EQ(probe(name, lease), Presence::kGone) << name;
    EXPECT_TRUE(test::succeeds(undo(name, lease))) << name;
  }
}

TEST_F(EffectsTest, DoNotConcernALeaseThatCannotHaveThem) {
  ledger::Lease lease = host_.start("c1", 4);
  EXPECT_FALSE(effect(kInterfaces).may_have(lease)) << "it was never attached";
  EXPECT_TRUE(effect(kPartition).may_have(lease));
  lease.origin = ledger::Origin::kJoined;
  EXPECT_FALSE(effect(kPartition).may_have(lease)) << "it is another lease's";
}

TEST_F(EffectsTest, CannotBeToldWhileTheControllerIsDown) {
  const ledger::Lease lease = host_.start("c1", 4);
  host_.controller.set_unreachable(true);
  const auto found = effect(kPartition).probe(host_.env, lease, test::HookHost::soon());
  EXPECT_TRUE(test::fails(found, base::Code::kUnavailable, "down"));
}

}  // namespace
}  // namespace hook::lifecycle::end
