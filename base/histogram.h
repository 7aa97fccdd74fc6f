// SPDX-License-Identifier: Apache-2.0
// How often something took how long: in so many numbers, however often that was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace base {

// Times in ms by the least of 10, 15, 20, 30, 50, 70, 100, 150 and so on that is not less; the last
// is 10^8, 27 hours, and has the longer ones. Two histograms add up to that of all their times.
class Histogram {
 public:
  void add(int64_t time_ms);  // a negative time counts as 0
  void add(const Histogram& other);

  [[nodiscard]] int64_t count() const;
  [[nodiscard]] int64_t largest_ms() const { return largest_ms_; }  // exact; 0: there is none
  // Returns how many are at most BOUND_MS, which is one of these bounds.
  [[nodiscard]] int64_t at_most(int64_t bound_ms) const;
  // Returns the median, rounded up to its bound, but not beyond the largest; 0: there is none.
  [[nodiscard]] int64_t median_ms() const;

  // Returns "LARGEST BOUND:COUNT BOUND:COUNT", at most kMaxText bytes; empty: there is none.
  [[nodiscard]] std::string to_text() const;
  // Fails with kInvalid if TEXT is not what to_text() returns.
  static Result<Histogram> parse(std::string_view text);

  bool operator==(const Histogram&) const = default;

  static constexpr size_t kMaxText = 2048;

 private:
  std::map<int64_t, int64_t> counts_;  // by bound
  int64_t largest_ms_ = 0;
};

}  // namespace base
