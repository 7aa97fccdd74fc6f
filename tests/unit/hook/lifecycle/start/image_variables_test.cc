// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/image_variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace hook::lifecycle::start {
namespace {

using base::str;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;
using testing::UnorderedElementsAre;
using Variables = std::vector<std::string>;

const Variables kOfImage = {"PATH=/bin", "IPU_WAIT=5m", "A=1", "IPU_PARTITION=p0"};

TEST(SetByImage, IsAllWhereTheUserGaveNothing) {
  EXPECT_THAT(set_by_image(kOfImage, kOfImage),
              Optional(UnorderedElementsAre("PATH", "IPU_WAIT", "A", "IPU_PARTITION")));
  EXPECT_THAT(set_by_image({"B=2"}, {}), Optional(IsEmpty()));
}

TEST(SetByImage, IsNotWhatTheUserGaveAlsoWithTheValueOfTheImage) {
  const Variables same = {"IPU_WAIT=5m", "B=2", "PATH=/bin", "A=1", "IPU_PARTITION=p0"};
  EXPECT_THAT(set_by_image(same, kOfImage),
              Optional(UnorderedElementsAre("PATH", "A", "IPU_PARTITION")));
  const Variables other = {"IPU_PARTITION=p1", "IPU_WAIT=1s", "PATH=/bin", "A=1"};
  EXPECT_THAT(set_by_image(other, kOfImage), Optional(UnorderedElementsAre("PATH", "A")));
}

TEST(SetByImage, IsUnknownWhereDockerDidNotMergeTheTwo) {
  EXPECT_EQ(set_by_image({"PATH=/bin"}, kOfImage), std::nullopt);
}

TEST(SetByImage, TakesLinearTime) {
  Variables many;
  for (int i = 0; i < 200'000; ++i) many.push_back(str("V", i, "=1"));
  EXPECT_EQ(set_by_image(many, many)->size(), many.size());
}

TEST(MaybeSetByImage, IsWhatHasAValueOfTheImage) {
  const Variables given = {"A=2", "B=1", "IPU_PARTITION=p0", "IPU_WAIT=5m", "PATH=/bin"};
  EXPECT_THAT(maybe_set_by_image(given, kOfImage),
              UnorderedElementsAre("IPU_PARTITION", "IPU_WAIT", "PATH"));
  EXPECT_THAT(maybe_set_by_image({"IPU_WAIT=5"}, kOfImage), IsEmpty());
  EXPECT_THAT(maybe_set_by_image(given, {}), IsEmpty());
}

TEST(MaybeSetByImage, IsNotWhatTheUserGaveBesides) {
  EXPECT_THAT(maybe_set_by_image({"IPU_WAIT=5m", "IPU_WAIT=5m"}, {"IPU_WAIT=5m"}), IsEmpty());
  EXPECT_THAT(maybe_set_by_image({"IPU_WAIT=5m", "IPU_WAIT=1s"}, {"IPU_WAIT=5m"}), IsEmpty());
  const Variables twice = {"IPU_WAIT=5m", "IPU_WAIT=5m"};
  EXPECT_THAT(maybe_set_by_image(twice, twice), UnorderedElementsAre("IPU_WAIT"));
}

TEST(MaybeSetByImage, TakesLittleTime) {
  Variables many;
  for (int i = 0; i < 200'000; ++i) many.push_back(str("V", i, "=1"));
  EXPECT_EQ(maybe_set_by_image(many, many).size(), many.size());
}

TEST(LastOfEach, KeepsTheOrderOfTheLast) {
  EXPECT_THAT(last_of_each({"A=1", "B=1", "A=2", "C"}), ElementsAre("B=1", "A=2", "C"));
  EXPECT_THAT(last_of_each({}), IsEmpty());
}

}  // namespace
}  // namespace hook::lifecycle::start
