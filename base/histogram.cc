// SPDX-License-Identifier: Apache-2.0
#include "base/histogram.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/names.h"
#include "base/text.h"

namespace base {
namespace {

constexpr int64_t kLargestBound = 100'000'000;
// Of counts and times, so that sums of a fleet's stay numbers.
constexpr int64_t kMost = int64_t{1} << 53;

const std::vector<int64_t>& bounds() {
  static const std::vector<int64_t> kBounds = [] {
    std::vector<int64_t> all;
    for (int64_t decade = 10; decade < kLargestBound; decade *= 10)
      for (const int64_t tenths : {10, 15, 20, 30, 50, 70}) all.push_back(decade * tenths / 10);
    all.push_back(kLargestBound);
    return all;
  }();
  return kBounds;
}

int64_t bound_of(int64_t time_ms) {
  const auto at = std::lower_bound(bounds().begin(), bounds().end(), time_ms);
  return at == bounds().end() ? kLargestBound : *at;
}

Error no_histogram() { return {Code::kInvalid, "the text is no histogram of times"}; }

}  // namespace

void Histogram::add(int64_t time_ms) {
  ++counts_[bound_of(std::max<int64_t>(0, time_ms))];
  largest_ms_ = std::max(largest_ms_, time_ms);
}

void Histogram::add(const Histogram& other) {
  for (const auto& [bound, count] : other.counts_) counts_[bound] += count;
  largest_ms_ = std::max(largest_ms_, other.largest_ms_);
}

int64_t Histogram::count() const {
  int64_t sum = 0;
  for (const auto& [bound, count] : counts_) sum += count;
  return sum;
}

int64_t Histogram::at_most(int64_t bound_ms) const {
  int64_t sum = 0;
  for (const auto& [bound, count] : counts_)
    if (bound <= bound_ms) sum += count;
  return sum;
}

int64_t Histogram::median_ms() const {
  int64_t before = 0;
  const int64_t half = count() / 2;
  for (const auto& [bound, count] : counts_) {
    before += count;
    if (before > half) return std::min(bound, largest_ms_);
  }
  return 0;
}

std::string Histogram::to_text() const {
  if (counts_.empty()) return "";
  std::string text = str(largest_ms_);
  for (const auto& [bound, count] : counts_) text += str(' ', bound, ':', count);
  return text;
}

Result<Histogram> Histogram::parse(std::string_view text) {
  Histogram histogram;
  if (text.empty()) return histogram;
  const std::vector<std::string_view> parts = split(text, ' ');
  const Result<int64_t> largest = parse_int<int64_t>(parts.front(), 0, kMost);
  if (!largest.ok() || parts.size() < 2 || text.size() > kMaxText) return no_histogram();
  histogram.largest_ms_ = largest.value();
  for (auto part = std::next(parts.begin()); part != parts.end(); ++part) {
    const std::vector<std::string_view> pair = split(*part, ':');
    if (pair.size() != 2) return no_histogram();
    const Result<int64_t> bound = parse_int<int64_t>(pair[0], 0, kLargestBound);
    const Result<int64_t> count = parse_int<int64_t>(pair[1], 1, kMost);
    if (!bound.ok() || !count.ok() || bound_of(bound.value()) != bound.value())
      return no_histogram();
    if (!histogram.counts_.emplace(bound.value(), count.value()).second) return no_histogram();
  }
  return histogram;
}

}  // namespace base
