// SPDX-License-Identifier: Apache-2.0
// Metrics as text, in the format of OpenMetrics 1.0 as far as Prometheus' text format 0.0.4 has it
// too, so that a scraper and node_exporter's textfile collector both read it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ipuctl::metrics {

// Names and values of labels. A value may be any text.
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

  // Returns all of it, with the mark of its end. The object is done then.
  [[nodiscard]] std::string take() &&;

  // From a start that finds all ready to one that waited a day.
  static constexpr double kBounds[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,  1,     2.5,
                                       5,     10,   30,    60,   300, 900,  3600, 14400, 86400};

 private:
  void line(std::string_view suffix, const Labels& labels, std::string_view value);

  std::string name_;
  std::string text_;
};

}  // namespace ipuctl::metrics
