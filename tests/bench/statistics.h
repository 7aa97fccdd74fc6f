// SPDX-License-Identifier: Apache-2.0
// Figures of repeated measurements.
#pragma once

#include <vector>

namespace bench {

// Returns the value that PERCENT of VALUES do not exceed, by nearest rank. VALUES is not empty.
[[nodiscard]] double percentile(std::vector<double> values, int percent);

struct Interval {
  double median;
  double low;
  double high;
};

// Returns the median of A[i] - B[i], which are of one round, and the interval that holds it with 95
// percent: the percentile bootstrap of 2000 samples, with a fixed seed. Both have the same size,
// which is not 0.
[[nodiscard]] Interval median_difference(const std::vector<double>& a,
                                         const std::vector<double>& b);

}  // namespace bench
