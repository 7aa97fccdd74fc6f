// SPDX-License-Identifier: Apache-2.0
#include "vipu/backfill.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "base/text.h"
#include "tests/support/backfill_simulation.h"

namespace vipu {
namespace {

// A pool of domains of 16 IPUs. Each letter of TEXT is the holder of an IPU, or '.': free, '#':
// tainted.
Occupancy pool_of(const std::string& text) {
  std::vector<uint32_t> domains(text.size() / 16, 16);
  if (text.size() % 16 != 0) domains.push_back(static_cast<uint32_t>(text.size() % 16));
  Occupancy pool{Topology(domains)};
  for (uint32_t i = 0; i < text.size(); ++i) {
    if (text[i] == '#') {
      pool.taint(i, "bad");
    } else if (text[i] != '.') {
      pool.hold(i, std::string(1, text[i]));
    }
  }
  return pool;
}

// Returns the pool in the same form; '*' is kept.
std::string kept_in(const std::string& text, const Block& pinned) {
  Occupancy pool = pool_of(text);
  keep(pool, pinned);
  std::string kept = text;
  for (uint32_t i = 0; i < text.size(); ++i) {
    if (pool.holder_of(i) == kKeptIpus) kept[i] = '*';
  }
  return kept;
}

using Pinned = std::optional<Block>;

TEST(BackfillTest, PinsTheBlockOfWhichTheFewestIpusAreHeldThenTheLowest) {
  EXPECT_EQ(pin(pool_of("aa...........bbb"), 8), Pinned({0, 8}));
  EXPECT_EQ(pin(pool_of("aaa..........bb."), 8), Pinned({8, 8}));
  EXPECT_EQ(pin(pool_of("a..............b"), 8), Pinned({0, 8}));
  EXPECT_EQ(pin(pool_of("abcabcabcabcabca"), 16), Pinned({0, 16}));
}

TEST(BackfillTest, PinsNoBlockThatCannotBecomeFree) {
  EXPECT_EQ(pin(pool_of("#.......bbbb...."), 8), Pinned({8, 8}));
  EXPECT_EQ(pin(pool_of("#.......bbbb...#"), 8), Pinned());
  EXPECT_EQ(pin(pool_of("................"), 32), Pinned());
  EXPECT_EQ(pin(pool_of("................"), 3), Pinned());
}

TEST(BackfillTest, StaysWithItsBlockUntilThatIsTainted) {
  const Block before{8, 8};
  EXPECT_EQ(pin(pool_of("a.......bbbbbbbb"), 8, before), Pinned(before));
  EXPECT_EQ(pin(pool_of("a.......bbbbbb#b"), 8, before), Pinned({0, 8}));
  EXPECT_EQ(pin(pool_of("a.......bbbbbbbb"), 4, before), Pinned({4, 4})) << "is of another size";
  EXPECT_EQ(pin(pool_of("a......."), 8, before), Pinned({0, 8})) << "the pool is smaller now";
}

TEST(BackfillTest, KeepsThePinnedBlockAndThoseThatMayBeFreeAsSoon) {
  EXPECT_EQ(kept_in("aa..............", {0, 8}), "aa**************");
  EXPECT_EQ(kept_in("aa......bbcc....", {0, 8}), "aa******bbcc****") << "one holder more";
  EXPECT_EQ(kept_in("aa......bbcd....", {0, 8}), "aa******bbcd....") << "two more";
  EXPECT_EQ(kept_in("aab.....ccde....", {0, 8}), "aab*****ccde****");
}

TEST(BackfillTest, KeepsNoBlockThatTheRequestCannotHave) {
  EXPECT_EQ(kept_in("aa......#.......", {0, 8}), "aa******#.......");
  EXPECT_EQ(kept_in("aa..............b...", {0, 16}), "aa**************b...")
      << "too small a domain";
}

TEST(BackfillTest, KeepsAllOfAPoolWithoutThePinnedBlock) {
  EXPECT_EQ(kept_in("aa......#.......", {16, 16}), "aa******#*******");
  EXPECT_EQ(kept_in("aa......bcdef...", {4, 8}), "aa******bcdef***");
  EXPECT_EQ(kept_in("aa......bcdef...", {0, 7}), "aa******bcdef***");
}

TEST(BackfillTest, FitsOnlyBesideWhatIsKept) {
  const Occupancy pool = pool_of("aa......bbcd....");
  EXPECT_TRUE(fits_beside(pool, {0, 8}, 4));
  EXPECT_FALSE(fits_beside(pool, {0, 8}, 8));
  EXPECT_FALSE(fits_beside(pool, {0, 16}, 1));
  EXPECT_EQ(pool.free_ipus(), 10U) << "the pool itself is unchanged";
}

// BACKFILL_SEEDS=1000 tries as many; make check-long does.
uint32_t seeds() {
  const char* const text = std::getenv("BACKFILL_SEEDS");
  if (text == nullptr) return 6;
  return base::parse_int<uint32_t>(text, 1, 100'000).value();
}

constexpr test::Workload kPod256 = {.ipus = 256, .load = 0.9, .requests = 2000, .seeds = 1};

// In each run, with the same requests and the same run times.
TEST(BackfillTest, DelaysNoStartBeyondItsPinnedBlockAndAllInAllNobody) {
  double without_used = 0;
  double with_used = 0;
  uint32_t heads = 0;
  uint32_t delayed = 0;
  double delay = 0;
  double longest = 0;
  for (uint32_t seed = 1; seed <= seeds(); ++seed) {
    test::QueueFigures without = test::QueuedPod(kPod256, test::Backfill::kNo, seed).run();
    test::QueueFigures with = test::QueuedPod(kPod256, test::Backfill::kYes, seed).run();
    EXPECT_EQ(with.after_pinned, 0U) << "seed " << seed;
    EXPECT_LE(with.waited_first, without.waited_first) << "seed " << seed;
    EXPECT_LE(with.waited, without.waited) << "seed " << seed;
    for (const auto& [size, waited] : without.waited_by_size) {
      EXPECT_LE(with.waited_by_size[size], waited) << "seed " << seed << ", size " << size;
    }
    EXPECT_GT(with.utilisation, without.utilisation) << "seed " << seed;
    without_used += without.utilisation / seeds();
    with_used += with.utilisation / seeds();
    heads += with.heads;
    delayed += with.delayed;
    delay += with.delay;
    longest = std::max(longest, with.longest_delay);
  }
  EXPECT_LT(delayed, heads / 40);
  std::printf(
      "POD256, load 0.9, %u seeds: used %.1f %%, with backfill %.1f %%; of %u requests that waited"
      " first, %u (%.1f %%) started later than if nobody had passed them, by %.2f run times (mean)"
      " and %.2f (longest)\n",
      seeds(), 100 * without_used, 100 * with_used, heads, delayed, 100.0 * delayed / heads,
      delayed == 0 ? 0 : delay / delayed, longest);
}

}  // namespace
}  // namespace vipu
