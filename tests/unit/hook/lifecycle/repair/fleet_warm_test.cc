// SPDX-License-Identifier: Apache-2.0
// A rebuild and a check of the host that made a warm partition, which a container of another host
// of the fleet has.
#include "base/clock.h"
#include "base/names.h"
#include "hook/lifecycle/repair/compare.h"
#include "hook/lifecycle/repair/survey.h"
#include "tests/support/warm_fleet.h"

namespace hook::lifecycle::repair {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using FleetWarmRepairTest = test::WarmFleet;

TEST_F(FleetWarmRepairTest, LeavesWhatAnotherHostHasAndWhatIsIdle) {
  fill(a_);
  b_.start("web", 4);
  const std::vector<std::string> before = a_.partitions();
  Rebuilt rebuilt;
  judge_partitions(survey_pools(a_.env, a_.config.pools, soon()), Unclaimed::kClaim, {}, rebuilt);
  EXPECT_THAT(rebuilt.partitions, IsEmpty());
  EXPECT_THAT(rebuilt.notes, IsEmpty());
  EXPECT_THAT(compare_outside(a_.env, a_.config.pools, soon()).take(), IsEmpty());
  EXPECT_EQ(a_.partitions(), before);
}

}  // namespace
}  // namespace hook::lifecycle::repair
