// SPDX-License-Identifier: Apache-2.0
// How well placement policies use a POD: a simulation of a loss system. Requests arrive as a
// Poisson process and hold their IPUs for exponential times of mean 1. Those without room are lost.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "vipu/placement.h"

namespace test {

// The choice of one block for SIZE IPUs. kBestFit is the product's place(). The others choose among
// all free aligned blocks: the lowest, any, or the lowest in the largest free buddy block.
enum class Policy { kBestFit, kFirstFit, kRandom, kWorstFit };

struct Workload {
  uint32_t ipus = 0;
  double load = 0;  // offered: the busy part, on average, if nothing were lost
  uint32_t requests = 6000;
  uint32_t seeds = 4;  // number of runs; the figures are their mean
};

struct Figures {
  double admitted = 0;     // part of the requests
  double fragmented = 0;   // part of the requests: refused with enough IPUs free by count
  double utilisation = 0;  // busy part of the IPUs, averaged over time
};

// Random numbers that are exact on every platform, unlike the distributions of <random>.
class Draw {
 public:
  explicit Draw(uint32_t seed) : random_(seed) {}

  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  double exponential(double mean) {
    return -mean * std::log1p(-std::ldexp(static_cast<double>(random_() >> 11), -53));
  }
  // Returns 1 to 64, weighted in percent.
  uint32_t size() {
    uint32_t percent = below(100);
    size_t i = 0;
    for (; percent >= kWeights[i]; ++i) percent -= kWeights[i];
    return 1U << i;
  }
  static double mean_size() {
    double sum = 0;
    for (size_t i = 0; i < kWeights.size(); ++i) sum += kWeights[i] / 100.0 * (1U << i);
    return sum;
  }

 private:
  static constexpr std::array<uint32_t, 7> kWeights = {30, 15, 25, 12, 12, 4, 2};
  std::mt19937_64 random_;
};

// The IPUs of a POD, with the blocks held and their ends.
class FragmentedPod {
 public:
  FragmentedPod(uint32_t ipus, Policy policy, uint32_t seed)
      : topology_(vipu::Topology::of_pod(ipus)), policy_(policy), draw_(seed), taken_(ipus) {}

  [[nodiscard]] uint32_t free() const { return topology_.ipus() - busy_; }
  [[nodiscard]] double busy_time() const { return busy_time_; }

  // Ends what is due by NOW.
  void advance(double now) {
    while (!held_.empty() && held_.begin()->first <= now) {
      pass(held_.begin()->first);
      mark(held_.begin()->second, false);
      held_.erase(held_.begin());
    }
    pass(now);
  }

  // Returns whether there is room for SIZE IPUs, and then holds them until END.
  [[nodiscard]] bool admit(uint32_t size, double end) {
    const std::optional<vipu::Block> block = policy_ == Policy::kBestFit ? best(size) : pick(size);
    if (!block.has_value()) return false;
    mark(*block, true);
    held_.emplace(end, *block);
    return true;
  }

 private:
  void pass(double now) {
    busy_time_ += busy_ * (now - now_);
    now_ = now;
  }

  void mark(const vipu::Block& block, bool taken) {
    std::fill_n(taken_.begin() + block.first, block.size, taken);
    busy_ += taken ? block.size : -block.size;
  }

  [[nodiscard]] std::optional<vipu::Block> best(uint32_t size) const {
    vipu::Occupancy occupancy(topology_);
    for (uint32_t i = 0; i < topology_.ipus(); ++i) {
      if (taken_[i]) occupancy.hold(i, "busy");
    }
    const std::optional<std::vector<vipu::Block>> blocks = place(occupancy, {size, 1});
    return blocks.has_value() ? std::optional(blocks->front()) : std::nullopt;
  }

  [[nodiscard]] std::optional<vipu::Block> pick(uint32_t size) {
    std::vector<vipu::Block> room;
    for (uint32_t first = 0; first < topology_.ipus(); first += size) {
      if (is_free(first, size)) room.push_back({first, size});
    }
    if (room.empty()) return std::nullopt;
    if (policy_ == Policy::kFirstFit) return room.front();
    if (policy_ == Policy::kRandom) return room[draw_.below(static_cast<uint32_t>(room.size()))];
    return *std::ranges::max_element(room, {}, [this](auto block) { return around(block); });
  }

  [[nodiscard]] bool is_free(uint32_t first, uint32_t size) const {
    const auto begin = taken_.begin() + first;
    return std::none_of(begin, begin + size, [](bool taken) { return taken; });
  }

  // Returns the size of the largest free buddy block around a free block.
  [[nodiscard]] uint32_t around(const vipu::Block& block) const {
    uint32_t size = block.size;
    while (size < vipu::kIpusPerDomain && is_free(block.first / (2 * size) * 2 * size, 2 * size)) {
      size *= 2;
    }
    return size;
  }

  vipu::Topology topology_;
  Policy policy_;
  Draw draw_;  // the policy's own, so that all policies get the same requests
  std::vector<bool> taken_;
  std::multimap<double, vipu::Block> held_;  // by end
  uint32_t busy_ = 0;
  double busy_time_ = 0;  // IPUs x time
  double now_ = 0;
};

// Simulates one run.
inline Figures simulate(Policy policy, const Workload& work, uint32_t seed) {
  FragmentedPod pod(work.ipus, policy, seed + 1000);
  Draw draw(seed);
  const double pause = Draw::mean_size() / (work.load * work.ipus);
  Figures counts;
  double now = 0;
  for (uint32_t i = 0; i < work.requests; ++i) {
    now += draw.exponential(pause);
    pod.advance(now);
    const uint32_t size = draw.size();
    const bool enough = size <= pod.free();
    const bool admitted = pod.admit(size, now + draw.exponential(1));
    counts.admitted += admitted ? 1 : 0;
    counts.fragmented += enough && !admitted ? 1 : 0;
  }
  return {counts.admitted / work.requests, counts.fragmented / work.requests,
          pod.busy_time() / now / work.ipus};
}

inline Figures simulate(Policy policy, const Workload& work) {
  Figures mean;
  for (uint32_t seed = 1; seed <= work.seeds; ++seed) {
    const Figures run = simulate(policy, work, seed);
    mean.admitted += run.admitted / work.seeds;
    mean.fragmented += run.fragmented / work.seeds;
    mean.utilisation += run.utilisation / work.seeds;
  }
  return mean;
}

}  // namespace test
