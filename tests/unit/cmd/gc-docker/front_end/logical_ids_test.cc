// SPDX-License-Identifier: Apache-2.0
#include "cmd/gc-docker/front_end/logical_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace front {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Cards = std::vector<uint32_t>;

TEST(LogicalIdsTest, SinglesThenPairsThenAllFour) {
  EXPECT_THAT(logical_devices({3, 1, 0, 2}, {}),
              ElementsAre(Cards{0}, Cards{1}, Cards{2}, Cards{3}, Cards{0, 1}, Cards{2, 3},
                          Cards{0, 1, 2, 3}));
}

TEST(LogicalIdsTest, OfEightEightIsAPair) {
  const auto devices = logical_devices({0, 1, 2, 3, 4, 5, 6, 7}, {});
  ASSERT_EQ(devices.size(), 15U);
  EXPECT_EQ(devices[8], (Cards{0, 1}));
  EXPECT_EQ(devices[12], (Cards{0, 1, 2, 3}));
  EXPECT_EQ(devices[14].size(), 8U);
}

TEST(LogicalIdsTest, OnlyLinkedCardsMakeAGroup) {
  EXPECT_THAT(logical_devices({0, 1, 2, 3}, {{0, 2}, {1, 3}}),
              ElementsAre(Cards{0}, Cards{1}, Cards{2}, Cards{3}, Cards{0, 2}, Cards{1, 3}));
  EXPECT_THAT(logical_devices({0, 1, 2}, {}),
              ElementsAre(Cards{0}, Cards{1}, Cards{2}, Cards{0, 1}));
  EXPECT_THAT(logical_devices({}, {}), testing::IsEmpty());
}

TEST(LogicalIdsTest, SeveralIdsAreTheirCardsOnce) {
  const auto devices = logical_devices({0, 1, 2, 3}, {});
  EXPECT_EQ(cards_of_ids(devices, {6}).value(), (Cards{0, 1, 2, 3}));
  EXPECT_EQ(cards_of_ids(devices, {5, 0, 2}).value(), (Cards{0, 2, 3}));
}

TEST(LogicalIdsTest, AnIdThatIsNoneIsRefusedWithThoseThereAre) {
  const auto refused = cards_of_ids(logical_devices({0, 1, 2, 3}, {}), {0, 7});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message(), HasSubstr("--device-id 7 does not exist"));
  EXPECT_THAT(refused.error().message(), HasSubstr("from 0 to 6"));
}

}  // namespace
}  // namespace front
