// SPDX-License-Identifier: Apache-2.0
// A POD whose requests wait in order of arrival, with backfill and without. All decisions are the
// product's: vipu::place, vipu::pin, vipu::keep. Requests arrive as a Poisson process and hold
// their IPUs for exponential times of mean 1, which no decision knows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/text.h"
#include "tests/support/fragmentation.h"
#include "vipu/backfill.h"

namespace test {

enum class Backfill { kNo, kYes };

// What became of the requests of one run.
struct QueueFigures {
  double utilisation = 0;   // busy part of the IPUs, until the last request started
  double waited = 0;        // by all requests, in sum
  double waited_first = 0;  // in the first place of the queue, in sum
  std::map<uint32_t, double> waited_by_size = {};
  uint32_t heads = 0;         // requests that waited in the first place
  uint32_t after_pinned = 0;  // of them: after all had ended that held the block when it was pinned
  // Of them: started later than if nobody had passed them. By how much in sum, and at most.
  uint32_t delayed = 0;
  double delay = 0;
  double longest_delay = 0;
};

// One run. Work.seeds does not count.
class QueuedPod {
 public:
  QueuedPod(const Workload& work, Backfill backfill, uint32_t seed)
      : backfill_(backfill), topology_(vipu::Topology::of_pod(work.ipus)), holder_(work.ipus) {
    Draw draw(seed);
    const double pause = Draw::mean_size() / (work.load * work.ipus);
    double now = 0;
    for (uint32_t i = 0; i < work.requests; ++i) {
      now += draw.exponential(pause);
      const uint32_t size = draw.size();
      requests_.push_back({size, now, draw.exponential(1)});
    }
  }

  QueueFigures run() {
    size_t next = 0;
    while (started_ < requests_.size()) {
      const bool comes = next < requests_.size() &&
                         (ends_.empty() || requests_[next].arrival < ends_.begin()->first);
      pass(comes ? requests_[next].arrival : ends_.begin()->first);
      if (comes) {
        arrive(next++);
      } else {
        end(ends_.begin()->second);
        ends_.erase(ends_.begin());
        serve();
      }
    }
    figures_.utilisation = busy_time_ / now_ / topology_.ipus();
    return figures_;
  }

 private:
  struct Request {
    uint32_t size = 0;
    double arrival = 0;
    double duration = 0;
    double end = 0;
    vipu::Block block = {};
  };
  // The request in the first place of the queue.
  struct Head {
    vipu::Block pinned;
    double since = 0;
    double pinned_free = 0;  // when what holds the pinned block now has ended
    double first_free = 0;   // when any block is free, if nobody passes
  };

  [[nodiscard]] vipu::Occupancy occupancy() const {
    vipu::Occupancy occupancy(topology_);
    for (uint32_t i = 0; i < topology_.ipus(); ++i) {
      if (holder_[i]) occupancy.hold(i, base::str(*holder_[i]));
    }
    return occupancy;
  }

  void pass(double now) {
    busy_time_ += busy_ * (now - now_);
    now_ = now;
  }

  void end(size_t index) {
    const vipu::Block& block = requests_[index].block;
    std::fill_n(holder_.begin() + block.first, block.size, std::nullopt);
    busy_ -= block.size;
  }

  bool start(size_t index, const vipu::Occupancy& occupancy) {
    Request& request = requests_[index];
    const auto blocks = vipu::place(occupancy, {request.size, 1});
    if (!blocks) return false;
    request.block = blocks->front();
    request.end = now_ + request.duration;
    std::fill_n(holder_.begin() + request.block.first, request.size, index);
    ends_.emplace(request.end, index);
    busy_ += request.size;
    ++started_;
    figures_.waited += now_ - request.arrival;
    figures_.waited_by_size[request.size] += now_ - request.arrival;
    return true;
  }

  void arrive(size_t index) {
    if (queue_.empty() && start(index, occupancy())) return;
    if (!queue_.empty() && passes(index)) return;
    queue_.push_back(index);
    if (queue_.size() == 1) lead(index);
  }

  [[nodiscard]] double free_time(const vipu::Block& block) const {
    double time = now_;
    for (uint32_t i = block.first; i < block.first + block.size; ++i) {
      if (holder_[i]) time = std::max(time, requests_[*holder_[i]].end);
    }
    return time;
  }

  // The request is first, and finds nothing.
  void lead(size_t index) {
    const uint32_t size = requests_[index].size;
    const vipu::Block pinned = vipu::pin(occupancy(), size).value();
    double first_free = free_time(pinned);
    for (uint32_t first = 0; first < topology_.ipus(); first += size) {
      first_free = std::min(first_free, free_time({first, size}));
    }
    head_ = Head{pinned, now_, free_time(pinned), first_free};
    ++figures_.heads;
  }

  // Takes a place beside what is kept for the first in the queue, if there is one.
  bool passes(size_t index) {
    if (backfill_ == Backfill::kNo || requests_[index].size >= head_->pinned.size) return false;
    vipu::Occupancy left = occupancy();
    vipu::keep(left, head_->pinned);
    return start(index, left);
  }

  void count_start_of_head() {
    figures_.waited_first += now_ - head_->since;
    if (now_ > head_->pinned_free) ++figures_.after_pinned;
    const double delay = now_ - head_->first_free;
    if (delay <= 0) return;
    ++figures_.delayed;
    figures_.delay += delay;
    figures_.longest_delay = std::max(figures_.longest_delay, delay);
  }

  // Serves the queue after a partition ended.
  void serve() {
    while (!queue_.empty() && start(queue_.front(), occupancy())) {
      if (head_) count_start_of_head();
      head_.reset();
      queue_.pop_front();
    }
    if (queue_.empty()) return;
    if (!head_) lead(queue_.front());
    std::set<uint32_t> in_vain;  // sizes
    for (size_t i = 1; i < queue_.size();) {
      const uint32_t size = requests_[queue_[i]].size;
      if (!in_vain.contains(size) && passes(queue_[i])) {
        queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        in_vain.insert(size);
        ++i;
      }
    }
  }

  Backfill backfill_;
  vipu::Topology topology_;
  std::vector<Request> requests_;
  std::vector<std::optional<size_t>> holder_;  // by IPU
  std::multimap<double, size_t> ends_;
  std::deque<size_t> queue_;
  std::optional<Head> head_;
  QueueFigures figures_;
  size_t started_ = 0;
  uint32_t busy_ = 0;
  double busy_time_ = 0;
  double now_ = 0;
};

}  // namespace test
