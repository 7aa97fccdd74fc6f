// SPDX-License-Identifier: Apache-2.0
#include "vipu/placement.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace vipu {
namespace {

Occupied pod(const std::string& ipus) {
  Occupied occupied;
  for (const char c : ipus) {
    if (c != ' ') occupied.push_back(c == 'x');
  }
  return occupied;
}

TEST(PlacementTest, TakesTheLowestBlockOfAnEmptyPod) {
  for (const uint32_t size : {1U, 2U, 4U, 8U, 16U}) EXPECT_EQ(find_block(Occupied(16), size), 0U);
}

TEST(PlacementTest, TakesTheSmallestBlockThatFitsSoThatLargeOnesStayWhole) {
  EXPECT_EQ(find_block(pod(".... .... xxxx xx.."), 2), 14U);
  EXPECT_EQ(find_block(pod(".... xxxx .... ...."), 4), 0U);
  EXPECT_EQ(find_block(pod("xxxx x... .... ...."), 1), 5U);
}

TEST(PlacementTest, StartsOnlyAtMultiplesOfTheSize) {
  EXPECT_EQ(find_block(pod("x..x"), 2), std::nullopt);
  EXPECT_EQ(find_block(pod("xx.. ..xx"), 4), std::nullopt);
}

TEST(PlacementTest, FindsNothingForASizeThatIsNoPowerOfTwo) {
  for (const uint32_t size : {0U, 3U, 5U, 12U, UINT32_MAX}) {
    EXPECT_EQ(find_block(Occupied(16), size), std::nullopt) << size;
  }
}

TEST(PlacementTest, FindsNothingThatIsLargerThanThePod) {
  EXPECT_EQ(find_block(Occupied(16), 32), std::nullopt);
  EXPECT_EQ(find_block(Occupied(16), 1U << 31), std::nullopt);
  EXPECT_EQ(find_block(Occupied(), 1), std::nullopt);
}

TEST(PlacementTest, LargestFreeBlockIsAlignedAndAPowerOfTwo) {
  EXPECT_EQ(largest_free_block(pod(".... ....")), 8U);
  EXPECT_EQ(largest_free_block(pod("x... ....")), 4U);
  EXPECT_EQ(largest_free_block(pod("x..x x..x")), 1U);
  EXPECT_EQ(largest_free_block(pod("xxxx")), 0U);
  EXPECT_EQ(largest_free_block(Occupied()), 0U);
  EXPECT_EQ(largest_free_block(Occupied(12)), 8U);
}

// The textbook allocator with its lists of free blocks, which must agree with the search in a
// bitmap.
class Buddies {
 public:
  explicit Buddies(uint32_t size) { free_[size].insert(0); }

  std::optional<uint32_t> take(uint32_t size) {
    auto level = free_.lower_bound(size);
    while (level != free_.end() && level->second.empty()) ++level;
    if (level == free_.end()) return std::nullopt;
    uint32_t have = level->first;
    const uint32_t first = *level->second.begin();
    level->second.erase(first);
    while (have > size) {
      have /= 2;
      free_[have].insert(first + have);
    }
    return first;
  }

  void give(uint32_t first, uint32_t size) {
    while (free_[size].erase(first ^ size) > 0) {
      first &= ~size;
      size *= 2;
    }
    free_[size].insert(first);
  }

  uint32_t largest() const {
    for (auto level = free_.rbegin(); level != free_.rend(); ++level) {
      if (!level->second.empty()) return level->first;
    }
    return 0;
  }

 private:
  std::map<uint32_t, std::set<uint32_t>> free_;
};

struct Block {
  uint32_t first;
  uint32_t size;
};

// Sets or clears a block, and counts how many of its IPUs were set before.
uint32_t mark(Occupied& occupied, const Block& block, bool taken) {
  uint32_t before = 0;
  for (uint32_t i = block.first; i < block.first + block.size; ++i) {
    before += occupied[i] ? 1U : 0U;
    occupied[i] = taken;
  }
  return before;
}

TEST(PlacementTest, AgreesWithABuddyAllocatorOverRandomHistories) {
  constexpr uint32_t kIpus = 64;
  for (uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    Occupied occupied(kIpus);
    Buddies reference(kIpus);
    std::vector<Block> held;
    for (int step = 0; step < 400; ++step) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " step " << step);
      if (!held.empty() && random() % 2 == 0) {
        std::swap(held[random() % held.size()], held.back());
        ASSERT_EQ(mark(occupied, held.back(), false), held.back().size);
        reference.give(held.back().first, held.back().size);
        held.pop_back();
      } else {
        const uint32_t size = 1U << (random() % 7);
        const std::optional<uint32_t> first = find_block(occupied, size);
        ASSERT_EQ(first, reference.take(size));
        if (first.has_value()) {
          ASSERT_EQ(*first % size, 0U);
          ASSERT_EQ(mark(occupied, {*first, size}, true), 0U) << "overlaps";
          held.push_back({*first, size});
        }
      }
      ASSERT_EQ(largest_free_block(occupied), reference.largest());
    }
  }
}

TEST(PlacementTest, FindsABlockExactlyWhenThereIsOneInEveryPodOfEight) {
  for (uint32_t bits = 0; bits < 256; ++bits) {
    Occupied occupied;
    for (uint32_t i = 0; i < 8; ++i) occupied.push_back((bits >> i & 1) != 0);
    for (const uint32_t size : {1U, 2U, 4U, 8U}) {
      const std::optional<uint32_t> first = find_block(occupied, size);
      EXPECT_EQ(first.has_value(), size <= largest_free_block(occupied)) << bits << " " << size;
      if (first.has_value()) {
        EXPECT_EQ(mark(occupied, {*first, size}, false), 0U) << bits << " " << size;
      }
    }
  }
}

Partition partition_of(uint32_t domain, uint32_t first, uint32_t size) {
  Partition partition;
  for (uint32_t i = 0; i < size; ++i) partition.ipus.push_back({domain, first + i});
  return partition;
}

TEST(CapacityTest, OfAnEmptyPodIsTheWholePod) {
  const Capacity capacity = capacity_of(16, {});
  EXPECT_EQ(capacity.total, 16U);
  EXPECT_EQ(capacity.used, 0U);
  EXPECT_EQ(capacity.largest_free, 16U);
}

TEST(CapacityTest, CountsFragmentation) {
  const Capacity capacity = capacity_of(16, {partition_of(0, 4, 1), partition_of(0, 8, 1)});
  EXPECT_EQ(capacity.used, 2U);
  EXPECT_EQ(capacity.largest_free, 4U);
}

TEST(CapacityTest, NoBlockSpansTwoDomains) {
  EXPECT_EQ(capacity_of(128, {}).largest_free, 64U);
  EXPECT_EQ(capacity_of(128, {partition_of(0, 0, 64)}).largest_free, 64U);
  EXPECT_EQ(capacity_of(128, {partition_of(1, 0, 1), partition_of(0, 0, 1)}).largest_free, 32U);
}

TEST(CapacityTest, SurvivesPlacesOutsideOfThePod) {
  const Capacity capacity =
      capacity_of(16, {partition_of(UINT32_MAX, 0, 4), partition_of(0, UINT32_MAX - 4, 4)});
  EXPECT_EQ(capacity.used, 8U);
  EXPECT_EQ(capacity.largest_free, 8U) << "never more than what is free by count";
}

TEST(CapacityTest, NeverUsesMoreThanThereIs) {
  const Capacity capacity = capacity_of(4, {partition_of(0, 0, 8)});
  EXPECT_EQ(capacity.used, 4U);
  EXPECT_EQ(capacity.largest_free, 0U);
}

}  // namespace
}  // namespace vipu
