// SPDX-License-Identifier: Apache-2.0
// Metrics as text in Prometheus' format 0.0.4, which node_exporter's textfile collector reads, too.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/histogram.h"

namespace ipuctl::metrics {

// Names and values of labels. A value may be any text; what it has beyond kMaxValue bytes is cut.
using Labels = std::vector<std::pair<std::string_view, std::string>>;

enum class Type { kGauge, kCounter, kHistogram };

class Exposition {
 public:
  // Begins the family NAME, "ipu_...", to which all samples belong until the next call. A counter's
  // name ends in "_total", a unit is its base unit ("seconds"). HELP is one line.
  void family(std::string_view name, Type type, std::string_view help);
  // Adds a sample. The same labels come once in each family.
  void sample(const Labels& labels, int64_t value);
  void sample(const Labels& labels, double value);
  // Adds a histogram of VALUES, in seconds: how many are at most each of kBounds, all of them, and
  // their sum.
  void histogram(const Labels& labels, const std::vector<double>& values);
  // Does so for times whose sum is not known.
  void histogram(const Labels& labels, const base::Histogram& times);

  // Returns all of it, with the mark of its end. The object is done then.
  [[nodiscard]] std::string take() &&;

  // In seconds, from a start that finds all ready to one that waited a day. base::Histogram has all
  // of them.
  static constexpr double kBounds[] = {0.01, 0.02, 0.05, 0.1, 0.2,  0.5,  1,     2,     5,
                                       10,   30,   100,  300, 1000, 3000, 10000, 100000};
  static constexpr size_t kMaxValue = 200;

 private:
  template <typename Count>
  void buckets(const Labels& labels, int64_t all, Count count);
  void line(std::string_view suffix, const Labels& labels, std::string_view value);

  std::string name_;
  std::string text_;
};

}  // namespace ipuctl::metrics
