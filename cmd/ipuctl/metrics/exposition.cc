// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/metrics/exposition.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

#include "base/text.h"

namespace ipuctl::metrics {
namespace {

using base::str;

std::string_view name_of(Type type) {
  if (type == Type::kCounter) return "counter";
  return type == Type::kHistogram ? "histogram" : "gauge";
}

std::string number(double value) {
  std::array<char, 400> text{};  // for any double
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed).ptr;
  return {text.data(), end};
}

// As the format wants a label's value between its quotes: a parser refuses all of a text that is
// not UTF-8.
std::string escaped(const std::string& value) {
  std::string text;
  for (const char c : base::one_line(value, Exposition::kMaxValue)) {
    if (c == '\\' || c == '"') text += '\\';
    text += c;
  }
  return text;
}

}  // namespace

void Exposition::family(std::string_view name, Type type, std::string_view help) {
  name_ = name;
  text_ += str("# HELP ", name, ' ', help, "\n# TYPE ", name, ' ', name_of(type), '\n');
}

void Exposition::line(std::string_view suffix, const Labels& labels, std::string_view value) {
  text_ += str(name_, suffix);
  const char* between = "{";
  for (const auto& [name, text] : labels) {
    text_ += str(between, name, "=\"", escaped(text), '"');
    between = ",";
  }
  text_ += str(labels.empty() ? "" : "}", ' ', value, '\n');
}

void Exposition::sample(const Labels& labels, int64_t value) { line("", labels, str(value)); }

void Exposition::sample(const Labels& labels, double value) { line("", labels, number(value)); }

template <typename Count>
void Exposition::buckets(const Labels& labels, int64_t all, Count count) {
  Labels with_bound = labels;
  with_bound.emplace_back("le", "");
  for (const double bound : kBounds) {
    with_bound.back().second = number(bound);
    line("_bucket", with_bound, str(int64_t{count(bound)}));
  }
  with_bound.back().second = "+Inf";
  line("_bucket", with_bound, str(all));
  line("_count", labels, str(all));
}

void Exposition::histogram(const Labels& labels, const std::vector<double>& values) {
  buckets(labels, static_cast<int64_t>(values.size()), [&values](double bound) {
    return std::count_if(values.begin(), values.end(),
                         [bound](double value) { return value <= bound; });
  });
  line("_sum", labels, number(std::accumulate(values.begin(), values.end(), 0.0)));
}

void Exposition::histogram(const Labels& labels, const base::Histogram& times) {
  buckets(labels, times.count(), [&times](double bound) {
    return times.at_most(static_cast<int64_t>(std::lround(bound * 1000)));
  });
}

std::string Exposition::take() && { return std::move(text_) + "# EOF\n"; }

}  // namespace ipuctl::metrics
