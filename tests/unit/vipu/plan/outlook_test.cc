// SPDX-License-Identifier: Apache-2.0
#include "vipu/plan/outlook.h"

#include <gtest/gtest.h>

namespace vipu::plan {
namespace {

using Blocks = std::vector<Block>;

// A pool of one domain in a picture: '.' is free, '!' tainted, a letter is the partition that has
// it.
PoolNow pool(const std::string& picture) {
  PoolNow now;
  now.survey.domains = {static_cast<uint32_t>(picture.size())};
  for (uint32_t i = 0; i < picture.size(); ++i) {
    if (picture[i] == '!') now.survey.tainted.push_back({{0, i}, "hot"});
    if (picture[i] < 'a' || picture[i] > 'z') continue;
    const std::string id(1, picture[i]);
    std::vector<Partition>& all = now.survey.partitions;
    if (all.empty() || all.back().id != id) {
      all.emplace_back();
      all.back().id = id;
    }
    all.back().ipus.push_back({0, i});
  }
  return now;
}

TEST(OutlookTest, AFreePoolHasRoomAtItsStart) {
  const Outlook outlook = look(pool("........"), 4);
  EXPECT_TRUE(outlook.now);
  EXPECT_EQ(outlook.blocks, (Blocks{{0, 4}}));
  EXPECT_EQ(outlook.shortage, "");
}

TEST(OutlookTest, APoolWithoutRoomNamesWhoIsInTheWay) {
  const Outlook outlook = look(pool("aa..bbbb"), 4);
  EXPECT_FALSE(outlook.now);
  EXPECT_TRUE(outlook.blocks.empty());
  EXPECT_EQ(outlook.blockers, std::vector<std::string>{"a"});
  EXPECT_EQ(outlook.shortage,
            "no free block of 4 IPUs (largest free: 2, free in all: 2); there would be one without "
            "a");
  EXPECT_EQ(look(pool("aaa!bbb!"), 4).shortage,
            "no free block of 4 IPUs (largest free: 0, free in all: 0, tainted: 2); tainted IPUs "
            "leave no place for one");
}

TEST(OutlookTest, AWarmPartitionIsTakenAsItIsOrGivenBack) {
  PoolNow now = pool("....wwbb");
  now.warm = {"w"};
  Outlook outlook = look(now, 2);
  EXPECT_TRUE(outlook.now);
  EXPECT_EQ(outlook.warm, "w");
  EXPECT_EQ(outlook.blocks, (Blocks{{4, 2}}));
  now = pool("aa..wwww");
  EXPECT_FALSE(look(now, 4).now);
  now.warm = {"w"};
  EXPECT_EQ(look(now, 4).warm, "w");
  now = pool("aa..wwvv");
  now.warm = {"w", "v"};
  outlook = look(now, 4);
  EXPECT_TRUE(outlook.now);
  EXPECT_EQ(outlook.warm, "");
  EXPECT_EQ(outlook.blocks, (Blocks{{4, 4}}));
}

TEST(OutlookTest, BehindOthersNobodyStartsAlthoughThereIsRoom) {
  PoolNow now = pool("........");
  now.ahead = 1;
  const Outlook outlook = look(now, 4);
  EXPECT_FALSE(outlook.now);
  EXPECT_EQ(outlook.shortage, "");
  EXPECT_TRUE(outlook.blocks.empty());
}

TEST(OutlookTest, ASmallerRequestPassesBesideWhatIsPinned) {
  // Of the blocks of 4, the pinned one has one holder, and the second has three: it is passed.
  PoolNow now = pool("aa..bcd.");
  now.ahead = 1;
  now.pinned = Block{0, 4};
  Outlook outlook = look(now, 1);
  EXPECT_TRUE(outlook.now);
  EXPECT_EQ(outlook.blocks, (Blocks{{7, 1}}));
  EXPECT_FALSE(look(now, 2).now) << "the free two are pinned";
  EXPECT_FALSE(look(now, 4).now) << "as large as the first";
  now.pinned.reset();
  EXPECT_FALSE(look(now, 1).now) << "nobody may pass";
}

TEST(OutlookTest, APartitionOverDomainsHasABlockInEach) {
  PoolNow now;
  now.survey.domains = {64, 64};
  const Outlook outlook = look(now, 128);
  EXPECT_TRUE(outlook.now);
  EXPECT_EQ(outlook.blocks, (Blocks{{0, 64}, {64, 64}}));
  now.survey.partitions.resize(1);
  now.survey.partitions[0].id = "w";
  for (uint32_t i = 0; i < 128; ++i) now.survey.partitions[0].ipus.push_back({i / 64, i % 64});
  now.warm = {"w"};
  EXPECT_EQ(look(now, 128).blocks, (Blocks{{0, 64}, {64, 64}}));
}

TEST(OutlookTest, TheLargestPartitionOfAPool) {
  EXPECT_EQ(largest_partition({64}), 64U);
  EXPECT_EQ(largest_partition({64, 64, 64, 64}), 256U);
  EXPECT_EQ(largest_partition({64, 64, 64}), 128U);
  EXPECT_EQ(largest_partition({48}), 32U);
  EXPECT_EQ(largest_partition({2, 2}), 4U);
  EXPECT_EQ(largest_partition({}), 0U);
}

}  // namespace
}  // namespace vipu::plan
