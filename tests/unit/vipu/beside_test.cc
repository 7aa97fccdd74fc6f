// SPDX-License-Identifier: Apache-2.0
// The IPUs that a request names to leave others to one that waits.
#include "vipu/beside.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/outcome.h"

namespace vipu {
namespace {

using base::Code;

Partition holder(const std::string& id, uint32_t first, uint32_t size) {
  Partition partition;
  partition.id = id;
  for (uint32_t i = first; i < first + size; ++i) partition.ipus.push_back({0, i});
  return partition;
}

// Of IPUs 0 to 7, one container has two; of 8 to 15, three have one each.
Survey pool() {
  return {{16}, {holder("a", 0, 2), holder("b", 8, 1), holder("c", 9, 1), holder("d", 10, 1)}, {}};
}

PartitionRequest leaves(const Block& block, uint32_t size) {
  PartitionRequest request{.id = "p", .size = size};
  request.pinned = block;
  return request;
}

std::vector<IpuPlace> places(const PartitionRequest& request) {
  std::vector<IpuPlace> all;
  for (const ChosenIpu& ipu : request.ipus) all.push_back(ipu.place);
  return all;
}

TEST(BesideTest, NamesABlockOutsideOfThePinnedOne) {
  const auto named = choose_beside(leaves({0, 8}, 4), pool());
  ASSERT_TRUE(test::succeeds(named));
  EXPECT_EQ(places(named.value()), (std::vector<IpuPlace>{{0, 12}, {0, 13}, {0, 14}, {0, 15}}));
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(named.value().ipus[i].routing_id, i);
  EXPECT_EQ(named.value().size, 4U);
}

TEST(BesideTest, FindsNoRoomInThePinnedBlock) {
  EXPECT_TRUE(test::fails(choose_beside(leaves({0, 8}, 8), pool()), Code::kBusy, "no free block"));
  Survey full = pool();
  full.partitions.push_back(holder("e", 12, 4));
  EXPECT_TRUE(test::fails(choose_beside(leaves({0, 8}, 4), full), Code::kBusy, "no free block"));
}

TEST(BesideTest, LeavesOtherRequestsAsTheyAre) {
  const PartitionRequest any{.id = "p", .size = 4};
  EXPECT_EQ(choose_beside(any, pool()).value(), any);
  PartitionRequest walled = leaves({0, 8}, 4);
  walled.allocation = "blue";
  EXPECT_TRUE(test::fails(choose_beside(walled, pool()), Code::kBusy, "'blue'"));
  EXPECT_TRUE(test::fails(choose_beside(leaves({0, 8}, 3), pool()), Code::kBusy, "3 IPUs"));
}

TEST(BesideTest, LooksAtItsClusterAlone) {
  Survey two = pool();
  two.partitions.push_back(holder("e", 12, 4));
  two.partitions.back().cluster = "other";
  PartitionRequest request = leaves({0, 8}, 4);
  request.cluster = "mine";
  const auto named = choose_beside(request, two);
  ASSERT_TRUE(test::succeeds(named));
  EXPECT_EQ(places(named.value()).front(), (IpuPlace{0, 12}));
  two.partitions.back().cluster = "mine";
  EXPECT_TRUE(test::fails(choose_beside(request, two), Code::kBusy, "no free block"));
}

TEST(BesideTest, AcceptsOnlyTheIpusThatWereNamed) {
  const PartitionRequest named = choose_beside(leaves({0, 8}, 4), pool()).value();
  EXPECT_TRUE(test::succeeds(check_chosen(named, {holder("a", 0, 2), holder("p", 12, 4)})));
  EXPECT_TRUE(
      test::fails(check_chosen(named, {holder("p", 4, 4)}), Code::kBusy, "backfill = false"));
  EXPECT_TRUE(test::fails(check_chosen(named, {holder("p", 12, 2)}), Code::kNotFound, "not whole"));
  EXPECT_TRUE(test::fails(check_chosen(named, {holder("p", 10, 8)}), Code::kBusy, "other IPUs"));
  EXPECT_TRUE(test::fails(check_chosen(named, {holder("q", 12, 4)}), Code::kNotFound, "'p'"));
}

}  // namespace
}  // namespace vipu
