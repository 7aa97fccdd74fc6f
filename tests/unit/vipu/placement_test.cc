// SPDX-License-Identifier: Apache-2.0
#include "vipu/placement.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>

#include "tests/support/outcome.h"

namespace vipu {
namespace {

using Blocks = std::vector<Block>;

// A pool in pictures, one text a domain: '.' is free, '!' tainted, a letter holds it.
Occupancy pool(const std::vector<std::string>& domains) {
  std::vector<uint32_t> sizes;
  for (const std::string& domain : domains) sizes.push_back(static_cast<uint32_t>(domain.size()));
  Occupancy occupancy{Topology(sizes)};
  uint32_t number = 0;
  for (const std::string& domain : domains) {
    for (const char c : domain) {
      if (c == '!') occupancy.taint(number, "bad");
      if (c >= 'a' && c <= 'z') occupancy.hold(number, std::string(1, c));
      ++number;
    }
  }
  return occupancy;
}

TEST(TopologyTest, NumbersTheIpusOfOneDomainAfterTheOther) {
  const Topology topology({2, 0, 3});
  EXPECT_EQ(topology.ipus(), 5U);
  EXPECT_EQ(topology.domains(), 3U);
  const std::vector<IpuPlace> places = {{0, 0}, {0, 1}, {2, 0}, {2, 1}, {2, 2}};
  for (uint32_t number = 0; number < places.size(); ++number) {
    EXPECT_EQ(topology.place_of(number), places[number]);
    EXPECT_EQ(topology.number_of(places[number]), number);
  }
}

TEST(TopologyTest, HasNoNumberForAPlaceOutside) {
  const Topology topology({2, 0, 3});
  for (const IpuPlace& place :
       std::vector<IpuPlace>{{0, 2}, {1, 0}, {2, 3}, {3, 0}, {UINT32_MAX, 0}, {0, UINT32_MAX}}) {
    EXPECT_EQ(topology.number_of(place), std::nullopt) << place.domain << " " << place.ipu;
  }
}

TEST(TopologyTest, OfAPodHasDomainsOfSixtyFourAndTheRestInASmallerOne) {
  EXPECT_EQ(Topology::of_pod(0).domains(), 0U);
  EXPECT_EQ(Topology::of_pod(16).domains(), 1U);
  EXPECT_EQ(Topology::of_pod(256).domains(), 4U);
  const Topology odd = Topology::of_pod(80);
  EXPECT_EQ(odd.domains(), 2U);
  EXPECT_EQ(odd.size_of(1), 16U);
  EXPECT_EQ(odd.ipus(), 80U);
}

TEST(OccupancyTest, ShowsWhatASurveySays) {
  Survey survey;
  survey.domains = {2, 2};
  survey.partitions.resize(1);
  survey.partitions[0].id = "p";
  survey.partitions[0].ipus = {{1, 0}, {1, 2}, {7, 0}};
  survey.tainted = {{{0, 1}, "hot"}, {{2, 0}, "not there"}};
  const Occupancy occupancy = Occupancy::of(survey);
  EXPECT_EQ(occupancy.holder_of(2), "p");
  EXPECT_EQ(occupancy.taint_of(1), "hot");
  EXPECT_TRUE(occupancy.is_free(0));
  EXPECT_FALSE(occupancy.is_free(1));
  EXPECT_FALSE(occupancy.is_free(2));
  EXPECT_EQ(occupancy.free_ipus(), 2U);
}

TEST(OccupancyTest, NeverTakesAnIpuForFreeBecauseANameIsEmpty) {
  Occupancy occupancy{Topology({2})};
  occupancy.hold(0, "");
  occupancy.taint(1, "");
  EXPECT_EQ(occupancy.free_ipus(), 0U);
  EXPECT_EQ(place(occupancy, {1, 0}), std::nullopt);
}

TEST(PlacementTest, TakesTheLowestBlockOfAnEmptyPool) {
  for (const uint32_t size : {1U, 2U, 4U, 8U, 16U}) {
    EXPECT_EQ(place(pool({"................"}), {size, 0}), Blocks({{0, size}}));
  }
}

TEST(PlacementTest, TakesTheSmallestBlockThatFitsSoThatLargeOnesStayWhole) {
  EXPECT_EQ(place(pool({"........xxxxxx.."}), {2, 0}), Blocks({{14, 2}}));
  EXPECT_EQ(place(pool({"....xxxx........"}), {4, 0}), Blocks({{0, 4}}));
  EXPECT_EQ(place(pool({"xxxxx..........."}), {1, 0}), Blocks({{5, 1}}));
}

TEST(PlacementTest, StartsOnlyAtMultiplesOfTheSize) {
  EXPECT_EQ(place(pool({"x..x"}), {2, 0}), std::nullopt);
  EXPECT_EQ(place(pool({"xx....xx"}), {4, 0}), std::nullopt);
}

TEST(PlacementTest, NeverLeavesADomain) {
  EXPECT_EQ(place(pool({"..", "..", ".."}), {4, 1}), std::nullopt);
  EXPECT_EQ(place(pool({"xx..", "..xx"}), {4, 0}), std::nullopt);
  EXPECT_EQ(place(pool({"xxx...", "...."}), {4, 0}), Blocks({{6, 4}}));
}

TEST(PlacementTest, CountsFromTheStartOfTheDomain) {
  EXPECT_EQ(place(pool({"x..", "...."}), {4, 0}), Blocks({{3, 4}}));
  EXPECT_EQ(place(pool({"xxx", "x..."}), {2, 0}), Blocks({{5, 2}}));
}

TEST(PlacementTest, UsesTheRestOfADomainThatIsNoPowerOfTwoFirst) {
  EXPECT_EQ(place(pool({"............"}), {4, 0}), Blocks({{8, 4}}));
  EXPECT_EQ(place(pool({"............"}), {8, 0}), Blocks({{0, 8}}));
}

TEST(PlacementTest, TakesFromADomainWithoutAFreeBuddySoThatPairsStayWhole) {
  EXPECT_EQ(place(pool({"..", "..", "..", "xx"}), {1, 0}), Blocks({{4, 1}}));
  EXPECT_EQ(place(pool({"..", "..", "..", "xx"}), {2, 0}), Blocks({{4, 2}}));
  EXPECT_EQ(place(pool({"..", "..", ".."}), {2, 0}), Blocks({{4, 2}}));
}

TEST(PlacementTest, GivesASizeAboveTheLargestDomainWholeDomainsSideBySide) {
  const Occupancy pod(Topology::of_pod(256));
  EXPECT_EQ(place(pod, {128, 0}), Blocks({{0, 64}, {64, 64}}));
  EXPECT_EQ(place(pod, {256, 0})->size(), 4U);
  EXPECT_EQ(place(pool({"..", "x.", "..", ".."}), {4, 0}), Blocks({{4, 2}, {6, 2}}));
  EXPECT_EQ(place(pool({"x.", "..", "..", "x."}), {4, 0}), std::nullopt) << "not aligned";
}

TEST(PlacementTest, PutsSegmentsAtTheSamePlaceOfConsecutiveDomains) {
  EXPECT_EQ(place(pool({"....", "...."}), {4, 2}), Blocks({{0, 2}, {4, 2}}));
  EXPECT_EQ(place(pool({"x...", "...."}), {4, 2}), Blocks({{2, 2}, {6, 2}}));
  EXPECT_EQ(place(pool({"xx..", "..xx"}), {4, 2}), std::nullopt);
  EXPECT_EQ(place(pool({"..", "...."}), {4, 2}), Blocks({{0, 2}, {2, 2}}));
}

TEST(PlacementTest, CutsSegmentsFromTheSmallestBlocksInAll) {
  EXPECT_EQ(place(pool({"....", "....", "xx..", "xx.."}), {4, 2}), Blocks({{10, 2}, {14, 2}}));
  EXPECT_EQ(place(pool({"....", "....", "....", "xx.."}), {4, 2}), Blocks({{10, 2}, {14, 2}}));
}

TEST(PlacementTest, NeverGivesATaintedIpu) {
  EXPECT_EQ(place(pool({"!..."}), {4, 0}), std::nullopt);
  EXPECT_EQ(place(pool({"!..."}), {2, 0}), Blocks({{2, 2}}));
  EXPECT_EQ(largest_free(pool({"!..!"})), 1U);
}

TEST(PlacementTest, FindsNothingForWhatNoPoolCouldHave) {
  const Occupancy pod(Topology::of_pod(256));
  for (const uint32_t size : {0U, 3U, 5U, 96U, 512U, 1U << 31, UINT32_MAX}) {
    EXPECT_EQ(place(pod, {size, 0}), std::nullopt) << size;
    EXPECT_EQ(place(pod, {size, 1U << 31}), std::nullopt) << size;
  }
  for (const uint32_t segments : {3U, 8U, 16U, 1U << 31, UINT32_MAX}) {
    EXPECT_EQ(place(pod, {8, segments}), std::nullopt) << segments;
  }
}

TEST(PlacementTest, FindsNothingInAPoolWithoutIpus) {
  for (const Topology& topology : {Topology({}), Topology({0, 0})}) {
    const Occupancy nothing(topology);
    EXPECT_EQ(place(nothing, {1, 0}), std::nullopt);
    EXPECT_EQ(place(nothing, {1U << 31, 0}), std::nullopt);
    EXPECT_EQ(largest_free(nothing), 0U);
    EXPECT_TRUE(test::fails(check_wanted(topology, {1, 0}), base::Code::kInvalid));
    EXPECT_TRUE(why_not(nothing, {1, 0}).blockers.empty());
  }
}

TEST(PlacementTest, RefusesWhatTheTopologyCouldNeverHold) {
  const Topology pod = Topology::of_pod(192);
  const auto refuses = [&](const Wanted& wanted, const char* text) {
    return test::fails(check_wanted(pod, wanted), base::Code::kInvalid, text);
  };
  EXPECT_TRUE(refuses({0, 0}, "a partition of 0 IPUs: the number must be a power of two"));
  EXPECT_TRUE(refuses({3, 0}, "power of two"));
  EXPECT_TRUE(refuses({UINT32_MAX, 0}, "power of two"));
  EXPECT_TRUE(refuses({8, 3}, "8 IPUs in 3 segments"));
  EXPECT_TRUE(refuses({2, 4}, "2 IPUs in 4 segments"));
  EXPECT_TRUE(refuses({128, 1}, "128 IPUs in 1 segment do not fit"));
  EXPECT_TRUE(refuses({256, 0},
                      "256 IPUs in 4 segments do not fit into a pool of 3 IPU-Link "
                      "domains of up to 64 IPUs"));
  EXPECT_TRUE(refuses({1U << 31, 0}, "do not fit"));
  EXPECT_TRUE(refuses({4, 4}, "do not fit"));
}

TEST(PlacementTest, AllowsWhatTheTopologyCouldHold) {
  for (const Wanted& wanted : std::vector<Wanted>{{1, 0}, {64, 0}, {64, 1}, {128, 0}, {2, 2}}) {
    EXPECT_TRUE(test::succeeds(check_wanted(Topology::of_pod(192), wanted))) << wanted.size;
  }
  EXPECT_TRUE(test::succeeds(check_wanted(Topology({2, 12}), {8, 0})));
  EXPECT_TRUE(test::fails(check_wanted(Topology({2, 12}), {16, 0}), base::Code::kInvalid));
}

// A pool that partitions come to and leave at random.
class History {
 public:
  History(std::vector<uint32_t> domains, uint32_t seed) : random_(seed) {
    survey_.domains = std::move(domains);
    const Topology topology(survey_.domains);
    for (uint32_t i = 0; i < topology.ipus() / 16; ++i) {
      survey_.tainted.push_back({topology.place_of(below(topology.ipus())), "bad"});
    }
  }

  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  [[nodiscard]] Occupancy occupancy() const { return Occupancy::of(survey_); }
  [[nodiscard]] uint32_t taken() const { return taken_; }
  [[nodiscard]] bool empty() const { return survey_.partitions.empty(); }

  void give_back_any() {
    std::swap(survey_.partitions[below(count())], survey_.partitions.back());
    survey_.partitions.pop_back();
  }

  // Takes what place() gives, and checks that it may be given.
  void take(const Wanted& wanted) {
    const Occupancy before = occupancy();
    const std::optional<Blocks> blocks = place(before, wanted);
    if (!blocks.has_value()) return;
    uint32_t size = 0;
    Partition partition;
    partition.id = "p" + std::to_string(taken_++);
    const IpuPlace start = before.topology().place_of(blocks->front().first);
    ASSERT_EQ(start.domain % blocks->size(), 0U);
    for (const Block& block : *blocks) {
      const IpuPlace first = before.topology().place_of(block.first);
      ASSERT_EQ(first.domain, start.domain + static_cast<uint32_t>(&block - blocks->data()));
      ASSERT_EQ(first.ipu, start.ipu);
      ASSERT_EQ(first.ipu % block.size, 0U);
      ASSERT_LE(first.ipu + block.size, before.topology().size_of(first.domain));
      for (uint32_t i = 0; i < block.size; ++i) {
        ASSERT_TRUE(before.is_free(block.first + i)) << "overlaps, or is tainted";
        partition.ipus.push_back({first.domain, first.ipu + i});
      }
      size += block.size;
    }
    ASSERT_EQ(size, wanted.size);
    survey_.partitions.push_back(partition);
  }

 private:
  [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(survey_.partitions.size()); }

  std::mt19937 random_;
  Survey survey_;
  uint32_t taken_ = 0;  // in all
};

// What place() says to everything that one could want.
std::vector<std::optional<Blocks>> answers(const Occupancy& occupancy) {
  std::vector<std::optional<Blocks>> answers;
  for (uint32_t size = 1; size <= occupancy.topology().ipus(); size *= 2) {
    for (const uint32_t segments : {0U, 1U, 2U, 4U}) {
      answers.push_back(place(occupancy, {size, segments}));
    }
  }
  return answers;
}

class PlacementHistoryTest : public testing::TestWithParam<std::vector<uint32_t>> {};

TEST_P(PlacementHistoryTest, GivesFreeAlignedBlocksAndMergesWhatComesBackInAnyOrder) {
  for (uint32_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    History history(GetParam(), seed);
    const auto before = answers(history.occupancy());
    for (int step = 0; step < 200; ++step) {
      if (!history.empty() && history.below(3) == 0) {
        history.give_back_any();
      } else {
        const uint32_t segments[] = {0, 0, 0, 1, 2};
        history.take({1U << history.below(8), segments[history.below(5)]});
        ASSERT_FALSE(HasFatalFailure());
      }
    }
    EXPECT_GE(history.taken(), 20U);
    while (!history.empty()) history.give_back_any();
    EXPECT_EQ(answers(history.occupancy()), before);
  }
}

INSTANTIATE_TEST_SUITE_P(Topologies, PlacementHistoryTest,
                         testing::Values(std::vector<uint32_t>{64}, std::vector<uint32_t>{64, 64},
                                         std::vector<uint32_t>{64, 64, 64, 64},
                                         std::vector<uint32_t>{64, 64, 16},
                                         std::vector<uint32_t>{2, 2, 2, 2},
                                         std::vector<uint32_t>{12, 8, 24, 3, 40, 1}));

}  // namespace
}  // namespace vipu
