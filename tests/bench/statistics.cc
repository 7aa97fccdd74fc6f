// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/statistics.h"

#include <algorithm>
#include <cstddef>
#include <random>

namespace bench {

namespace {
constexpr int kSamples = 2000;
}  // namespace

double percentile(std::vector<double> values, int percent) {
  const size_t rank = (values.size() * static_cast<size_t>(percent) + 99) / 100;
  const auto at = values.begin() + static_cast<ptrdiff_t>(rank == 0 ? 0 : rank - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

Interval median_difference(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> differences(a.size());
  std::transform(a.begin(), a.end(), b.begin(), differences.begin(), std::minus<>());
  std::mt19937 random(1);
  std::uniform_int_distribution<size_t> any(0, differences.size() - 1);
  std::vector<double> medians;
  std::vector<double> sample(differences.size());
  for (int i = 0; i < kSamples; ++i) {
    for (double& value : sample) value = differences[any(random)];
    medians.push_back(percentile(sample, 50));
  }
  std::sort(medians.begin(), medians.end());
  return {percentile(differences, 50), medians[kSamples / 40 - 1],
          medians[kSamples - kSamples / 40]};
}

}  // namespace bench
