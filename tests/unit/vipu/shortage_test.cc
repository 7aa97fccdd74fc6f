// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "vipu/placement.h"

namespace vipu {
namespace {

using Names = std::vector<std::string>;

// One domain in a picture: '.' is free, '!' tainted, a letter holds it.
Occupancy domain(const std::string& ipus) {
  Occupancy occupancy{Topology({static_cast<uint32_t>(ipus.size())})};
  for (uint32_t number = 0; number < ipus.size(); ++number) {
    const char c = ipus[number];
    if (c == '!') occupancy.taint(number, "bad");
    if (c >= 'a' && c <= 'z') occupancy.hold(number, std::string(1, c));
  }
  return occupancy;
}

TEST(ShortageTest, CountsWhatIsFreeAndWhatIsTainted) {
  Occupancy occupancy = domain("a..a!...");
  occupancy.taint(0, "bad");
  const Shortage shortage = why_not(occupancy, {4, 0});
  EXPECT_EQ(shortage.free, 5U);
  EXPECT_EQ(shortage.largest_free, 2U);
  EXPECT_EQ(shortage.tainted, 2U) << "also the one that is held";
}

TEST(ShortageTest, NamesTheHoldersOfTheBlockInTheOrderOfTheirIpus) {
  EXPECT_EQ(why_not(domain("baa.cccc"), {4, 0}).blockers, Names({"b", "a"}));
}

TEST(ShortageTest, WantsTheFewestIpusBackOutsideOfTheBlockToo) {
  EXPECT_EQ(why_not(domain("a...aaaa.bb.cccc"), {4, 0}).blockers, Names({"b"}));
  EXPECT_EQ(why_not(domain("a...b..."), {4, 0}).blockers, Names({"a"})) << "the lowest";
}

TEST(ShortageTest, NamesNobodyWhereATaintIsInTheWay) {
  EXPECT_EQ(why_not(domain("a!..bbbb"), {4, 0}).blockers, Names({"b"}));
  EXPECT_EQ(why_not(domain("a!..bb!b"), {4, 0}).blockers, Names());
}

TEST(ShortageTest, NamesNobodyIfThereIsRoom) {
  EXPECT_EQ(why_not(domain("aaaa...."), {4, 0}).blockers, Names());
}

TEST(ShortageTest, NamesNobodyForWhatNoPoolCouldHave) {
  for (const Wanted& wanted : std::vector<Wanted>{{0, 0},
                                                  {3, 0},
                                                  {UINT32_MAX, 0},
                                                  {1U << 31, 0},
                                                  {8, 3},
                                                  {2, 4},
                                                  {4, 1U << 31},
                                                  {16, 0}}) {
    const Shortage shortage = why_not(domain("a..."), wanted);
    EXPECT_EQ(shortage.blockers, Names()) << wanted.size << " " << wanted.segments;
    EXPECT_EQ(shortage.largest_free, 2U);
  }
}

TEST(ShortageTest, NamesTheHoldersOfAllSegments) {
  Occupancy occupancy{Topology({2, 2, 2, 2})};
  occupancy.hold(1, "a");
  occupancy.hold(2, "b");
  occupancy.hold(4, "c");
  occupancy.hold(5, "c");
  occupancy.hold(6, "c");
  EXPECT_EQ(why_not(occupancy, {4, 0}).blockers, Names({"a", "b"}));
}

TEST(ShortageTextTest, SaysWhatThereIsAndWhatWouldHelp) {
  EXPECT_EQ(to_text({.free = 6, .largest_free = 4, .blockers = {"c-1a2b3c", "p7"}}, {8, 0}),
            "no free block of 8 IPUs (largest free: 4, free in all: 6); there would be one without "
            "c-1a2b3c and p7");
  EXPECT_EQ(
      to_text({.blockers = {"p"}}, {1, 1}),
      "no free block of 1 IPU (largest free: 0, free in all: 0); there would be one without p");
}

TEST(ShortageTextTest, NamesAtMostFourBlockers) {
  const std::string start =
      "no free block of 8 IPUs in 2 segments (largest free: 1, free in all: 2); there would be one "
      "without ";
  Shortage shortage{.free = 2, .largest_free = 1, .blockers = {"a", "b", "c", "d"}};
  EXPECT_EQ(to_text(shortage, {8, 2}), start + "a, b, c and d");
  shortage.blockers.insert(shortage.blockers.end(), {"e", "f"});
  EXPECT_EQ(to_text(shortage, {8, 2}), start + "a, b, c, d and 2 more");
}

TEST(ShortageTextTest, SaysWhenOnlyTaintsAreInTheWay) {
  EXPECT_EQ(to_text({.free = 7, .largest_free = 4, .tainted = 1}, {8, 0}),
            "no free block of 8 IPUs (largest free: 4, free in all: 7, tainted: 1); tainted IPUs "
            "leave no place for one");
}

TEST(ShortageTextTest, StaysOneShortLineWhateverTheNames) {
  const std::string text = to_text({.blockers = {std::string(1000, 'x'), "a\nb"}}, {8, 0});
  EXPECT_LT(text.size(), 200U);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_TRUE(text.ends_with(" and a b"));
}

}  // namespace
}  // namespace vipu
