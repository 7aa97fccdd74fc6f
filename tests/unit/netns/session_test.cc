// SPDX-License-Identifier: Apache-2.0
#include "netns/session.h"

#include <gtest/gtest.h>

namespace netns {
namespace {

TEST(LinkGroupTest, IsTheLastFourBytesOfTheMac) {
  EXPECT_EQ(group_of(parse_mac("02:00:0a:05:c8:0a").value()), 0x0a05c80aU);
}

TEST(LinkGroupTest, IsNeverTheGroupOfAllOtherLinks) {
  EXPECT_NE(group_of(parse_mac("02:01:00:00:00:00").value()), 0U);
}

}  // namespace
}  // namespace netns
