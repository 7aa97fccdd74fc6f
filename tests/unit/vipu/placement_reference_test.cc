// SPDX-License-Identifier: Apache-2.0
// Placement against a reference on small pools: sets of IPUs as bits, and every answer by trying
// all.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <random>
#include <set>

#include "vipu/placement.h"

namespace vipu {
namespace {

using Bits = uint32_t;  // a set of IPUs, by their numbers

Bits range(uint32_t first, uint32_t size) { return ((Bits{1} << size) - 1) << first; }
bool contains(Bits whole, Bits part) { return (part & ~whole) == 0; }
uint32_t count(Bits ipus) { return static_cast<uint32_t>(std::popcount(ipus)); }

class Reference {
 public:
  explicit Reference(std::vector<uint32_t> domains) : sizes_(std::move(domains)) {
    for (const uint32_t size : sizes_) {
      firsts_.push_back(ipus_);
      ipus_ += size;
    }
    for (uint32_t d = 0; d < sizes_.size(); ++d) add_blocks_of(d);
    for (uint32_t n = 2; n <= sizes_.size(); n *= 2) {
      for (uint32_t d = 0; d + n <= sizes_.size(); d += n) add_buddies(d, n);
    }
  }

  [[nodiscard]] uint32_t ipus() const { return ipus_; }

  // All places for this, lowest first, each as the blocks of its segments.
  const std::vector<std::vector<Bits>>& places(const Wanted& wanted) {
    const auto [known, is_new] = places_.try_emplace({wanted.size, wanted.segments});
    if (is_new) known->second = find_places(wanted.size, wanted.segments);
    return known->second;
  }

  // The IPUs of the free buddy blocks that this place is cut from.
  [[nodiscard]] uint32_t cut_from(const std::vector<Bits>& place, Bits free) const {
    std::set<Bits> around;
    for (const Bits segment : place) {
      Bits largest = segment;
      for (const Bits buddy : buddies_) {
        if (contains(free, buddy) && contains(buddy, segment) && count(buddy) > count(largest)) {
          largest = buddy;
        }
      }
      around.insert(largest);
    }
    uint32_t total = 0;
    for (const Bits block : around) total += count(block);
    return total;
  }

 private:
  [[nodiscard]] std::vector<std::vector<Bits>> find_places(uint32_t size, uint32_t segments) const {
    std::vector<std::vector<Bits>> places;
    if (segments == 0) {
      for (segments = 1; size / segments > *std::ranges::max_element(sizes_);) segments *= 2;
    }
    for (uint32_t d = 0; d < sizes_.size(); ++d) {
      for (uint32_t start = 0; start < sizes_[d]; ++start) {
        const std::vector<Bits> place = place_at(d, start, size, segments);
        if (!place.empty()) places.push_back(place);
      }
    }
    return places;
  }

  [[nodiscard]] std::vector<Bits> place_at(uint32_t domain, uint32_t start, uint32_t size,
                                           uint32_t segments) const {
    if (size % segments != 0 || domain % segments != 0) return {};
    if (start % (size / segments) != 0) return {};
    std::vector<Bits> place;
    for (uint32_t d = domain; d < domain + segments; ++d) {
      if (d >= sizes_.size() || start + size / segments > sizes_[d]) return {};
      place.push_back(range(firsts_[d] + start, size / segments));
    }
    return place;
  }

  void add_blocks_of(uint32_t d) {
    for (uint32_t size = 1; size <= sizes_[d]; size *= 2) {
      for (uint32_t start = 0; start + size <= sizes_[d]; start += size) {
        buddies_.push_back(range(firsts_[d] + start, size));
      }
    }
  }

  void add_buddies(uint32_t first, uint32_t domains) {
    Bits all = 0;
    for (uint32_t d = first; d < first + domains; ++d) {
      if (std::bit_floor(sizes_[d]) != std::bit_floor(sizes_[first])) return;
      all |= range(firsts_[d], std::bit_floor(sizes_[d]));
    }
    buddies_.push_back(all);
  }

  std::vector<uint32_t> sizes_;
  std::vector<uint32_t> firsts_;
  uint32_t ipus_ = 0;
  std::vector<Bits> buddies_;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<std::vector<Bits>>> places_;  // found so far
};

Bits all_of(const std::vector<Bits>& place) {
  Bits all = 0;
  for (const Bits segment : place) all |= segment;
  return all;
}

std::vector<Bits> bits_of(const std::vector<Block>& blocks) {
  std::vector<Bits> bits;
  for (const Block& block : blocks) bits.push_back(range(block.first, block.size));
  return bits;
}

// The best place, or none.
std::vector<Bits> best_place(Reference& reference, Bits free, const Wanted& wanted) {
  std::vector<Bits> best;
  for (const std::vector<Bits>& place : reference.places(wanted)) {
    if (!contains(free, all_of(place))) continue;
    if (best.empty() || reference.cut_from(place, free) < reference.cut_from(best, free)) {
      best = place;
    }
  }
  return best;
}

// Compares place() and largest_free() for one set of free IPUs.
void expect_best_places(Reference& reference, const Topology& topology, Bits free) {
  Occupancy occupancy(topology);
  for (uint32_t i = 0; i < topology.ipus(); ++i) {
    if ((free >> i & 1) == 0) occupancy.hold(i, "p");
  }
  uint32_t largest = 0;
  for (uint32_t size = 1; size <= 2 * topology.ipus(); size *= 2) {
    for (const uint32_t segments : {0U, 1U, 2U, 4U}) {
      if (segments > topology.domains()) continue;
      const std::vector<Bits> expected = best_place(reference, free, {size, segments});
      const std::optional<std::vector<Block>> blocks = place(occupancy, {size, segments});
      ASSERT_EQ(blocks.has_value() ? bits_of(*blocks) : std::vector<Bits>(), expected)
          << "free " << free << " size " << size << " segments " << segments;
      if (segments == 0 && !expected.empty()) largest = size;
    }
  }
  ASSERT_EQ(largest_free(occupancy), largest) << "free " << free;
}

// What each IPU is: free, tainted, or one of some holders'.
struct Tenants {
  Bits free = 0;
  Bits tainted = 0;
  std::map<std::string, Bits> held;

  void add(uint32_t number, uint32_t kind) {
    const Bits ipu = range(number, 1);
    if (kind == 0) free |= ipu;
    if (kind == 1) tainted |= ipu;
    if (kind >= 2) held[std::string(1, static_cast<char>('a' + kind - 2))] |= ipu;
  }
  [[nodiscard]] Occupancy occupancy(const Topology& topology) const {
    Occupancy occupancy(topology);
    for (uint32_t i = 0; i < topology.ipus(); ++i) {
      if (contains(tainted, range(i, 1))) occupancy.taint(i, "bad");
      for (const auto& [name, ipus] : held) {
        if (contains(ipus, range(i, 1))) occupancy.hold(i, name);
      }
    }
    return occupancy;
  }
};

// Of all sets of holders whose end makes room, the one with the fewest IPUs, then the lowest place.
std::set<std::string> fewest_blockers(Reference& reference, const Tenants& tenants,
                                      const Wanted& wanted) {
  const std::vector<std::pair<std::string, Bits>> held(tenants.held.begin(), tenants.held.end());
  const auto& places = reference.places(wanted);
  Bits best = 0;  // holders, by their numbers in HELD
  std::pair<uint32_t, size_t> least = {UINT32_MAX, 0};
  for (Bits ended = 0; ended < Bits{1} << held.size(); ++ended) {
    Bits back = 0;
    for (uint32_t i = 0; i < held.size(); ++i) {
      if (contains(ended, range(i, 1))) back |= held[i].second;
    }
    size_t lowest = 0;
    while (lowest < places.size() && !contains(tenants.free | back, all_of(places[lowest]))) {
      ++lowest;
    }
    if (lowest == places.size() || std::pair(count(back), lowest) >= least) continue;
    best = ended;
    least = {count(back), lowest};
  }
  std::set<std::string> names;
  for (uint32_t i = 0; i < held.size(); ++i) {
    if (contains(best, range(i, 1))) names.insert(held[i].first);
  }
  return names;
}

void expect_fewest_blockers(Reference& reference, const Topology& topology,
                            const Tenants& tenants) {
  const Occupancy occupancy = tenants.occupancy(topology);
  for (uint32_t size = 1; size <= topology.ipus(); size *= 2) {
    for (const uint32_t segments : {0U, 2U}) {
      if (segments > std::min(size, topology.domains())) continue;
      const Shortage shortage = why_not(occupancy, {size, segments});
      const std::set<std::string> blockers(shortage.blockers.begin(), shortage.blockers.end());
      ASSERT_EQ(blockers, fewest_blockers(reference, tenants, {size, segments}))
          << "free " << tenants.free << " tainted " << tenants.tainted << " size " << size
          << " segments " << segments;
      ASSERT_EQ(blockers.size(), shortage.blockers.size());
      ASSERT_EQ(shortage.free, count(tenants.free));
      ASSERT_EQ(shortage.tainted, count(tenants.tainted));
    }
  }
}

using Domains = std::vector<uint32_t>;

class SmallPoolTest : public testing::TestWithParam<Domains> {
 protected:
  Topology topology_{GetParam()};
  Reference reference_{GetParam()};
};

using EveryOccupancyTest = SmallPoolTest;

TEST_P(EveryOccupancyTest, GetsTheBestPlaceThatThereIs) {
  for (Bits free = 0; free < 1U << reference_.ipus(); ++free) {
    expect_best_places(reference_, topology_, free);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Pools, EveryOccupancyTest,
                         testing::Values(Domains{8}, Domains{16}, Domains{4, 4},
                                         Domains{2, 2, 2, 2}, Domains{1, 1, 1, 1, 1}, Domains{12},
                                         Domains{2, 4, 6}, Domains{4, 4, 3}, Domains{0, 3, 2, 2}));

using EveryTenantTest = SmallPoolTest;

TEST_P(EveryTenantTest, IsNamedExactlyIfItsEndMakesRoomMostCheaply) {
  constexpr uint32_t kKinds = 4;  // free, tainted, and two holders
  uint32_t all = 1;
  for (uint32_t i = 0; i < reference_.ipus(); ++i) all *= kKinds;
  for (uint32_t code = 0; code < all; ++code) {
    Tenants tenants;
    for (uint32_t i = 0; i < reference_.ipus(); ++i) tenants.add(i, code >> (2 * i) & 3);
    if (tenants.held["a"] > tenants.held["b"]) continue;  // the same with other names
    expect_fewest_blockers(reference_, topology_, tenants);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Pools, EveryTenantTest,
                         testing::Values(Domains{8}, Domains{4, 4}, Domains{2, 2, 2, 2}, Domains{6},
                                         Domains{2, 4}));

using ManyTenantsTest = SmallPoolTest;

TEST_P(ManyTenantsTest, AreNamedExactlyIfTheirEndMakesRoomMostCheaply) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    Tenants tenants;
    const auto kinds = static_cast<uint32_t>(3 + random() % 7);
    for (uint32_t i = 0; i < reference_.ipus(); ++i) {
      const auto kind = static_cast<uint32_t>(random() % kinds);
      tenants.add(i, kind == 1 && random() % 2 == 0 ? 0 : kind);
    }
    expect_fewest_blockers(reference_, topology_, tenants);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Pools, ManyTenantsTest,
                         testing::Values(Domains{16}, Domains{8, 8}, Domains{4, 4, 4, 4},
                                         Domains{12, 6, 2}));

}  // namespace
}  // namespace vipu
