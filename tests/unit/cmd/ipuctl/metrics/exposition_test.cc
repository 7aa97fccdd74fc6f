// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/metrics/exposition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace ipuctl::metrics {
namespace {

TEST(ExpositionTest, HasAFamilyWithItsSamples) {
  Exposition exposition;
  exposition.family("ipu_pool_ipus", Type::kGauge, "IPUs of a pool.");
  exposition.sample({{"pool", "pod64"}, {"state", "free"}}, int64_t{48});
  exposition.family("ipu_host_drained", Type::kGauge, "Whether the host is drained.");
  exposition.sample({}, int64_t{0});
  EXPECT_EQ(std::move(exposition).take(),
            "# HELP ipu_pool_ipus IPUs of a pool.\n"
            "# TYPE ipu_pool_ipus gauge\n"
            "ipu_pool_ipus{pool=\"pod64\",state=\"free\"} 48\n"
            "# HELP ipu_host_drained Whether the host is drained.\n"
            "# TYPE ipu_host_drained gauge\n"
            "ipu_host_drained 0\n"
            "# EOF\n");
}

TEST(ExpositionTest, AValueOfALabelStaysInItsQuotes) {
  Exposition exposition;
  exposition.family("ipu_leases", Type::kGauge, "Leases.");
  exposition.sample({{"tenant", "a\"} 7\nipu_leases{tenant=\"b\\\xff"}}, int64_t{1});
  const std::string text = std::move(exposition).take();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4) << text;
  EXPECT_NE(text.find("{tenant=\"a\\\"} 7"), std::string::npos) << text;
  EXPECT_NE(text.find("ipu_leases{tenant=\\\"b\\\\"), std::string::npos) << text;
  EXPECT_EQ(text.find('\xff'), std::string::npos) << text;
}

TEST(ExpositionTest, AHistogramCountsWhatIsAtMostEachBound) {
  Exposition exposition;
  exposition.family("ipu_start_wait_seconds", Type::kHistogram, "Waits.");
  exposition.histogram({{"pool", "p"}}, {0.01, 0.011, 7, 200'000});
  const std::string text = std::move(exposition).take();
  const auto has = [&](const std::string& line) {
    return text.find(line + "\n") != std::string::npos;
  };
  EXPECT_TRUE(has("ipu_start_wait_seconds_bucket{pool=\"p\",le=\"0.01\"} 1")) << text;
  EXPECT_TRUE(has("ipu_start_wait_seconds_bucket{pool=\"p\",le=\"5\"} 2"));
  EXPECT_TRUE(has("ipu_start_wait_seconds_bucket{pool=\"p\",le=\"100000\"} 3"));
  EXPECT_TRUE(has("ipu_start_wait_seconds_bucket{pool=\"p\",le=\"+Inf\"} 4"));
  EXPECT_TRUE(has("ipu_start_wait_seconds_sum{pool=\"p\"} 200007.021"));
  EXPECT_TRUE(has("ipu_start_wait_seconds_count{pool=\"p\"} 4"));
}

TEST(ExpositionTest, TimesAreCountedByTheSameBounds) {
  base::Histogram times;
  for (const int64_t time : {10, 11, 7000}) times.add(time);
  Exposition exposition;
  exposition.family("ipu_start_wait_seconds", Type::kHistogram, "Waits.");
  exposition.histogram({}, times);
  const std::string text = std::move(exposition).take();
  for (const double bound : Exposition::kBounds) {
    const auto ms = static_cast<int64_t>(bound * 1000 + 0.5);
    base::Histogram one;
    one.add(ms);
    EXPECT_EQ(one.at_most(ms), 1) << bound;  // else it is no bound of base::Histogram
  }
  EXPECT_NE(text.find("_bucket{le=\"0.01\"} 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("_bucket{le=\"0.02\"} 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("_bucket{le=\"10\"} 3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("_count 3\n"), std::string::npos) << text;
}

TEST(ExpositionTest, AnEmptyHistogramHasAllItsLines) {
  Exposition exposition;
  exposition.family("ipu_start_wait_seconds", Type::kHistogram, "Waits.");
  exposition.histogram({}, std::vector<double>());
  std::istringstream lines(std::move(exposition).take());
  size_t buckets = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("_bucket{le=") != std::string::npos && line.ends_with(" 0")) ++buckets;
  }
  EXPECT_EQ(buckets, std::size(Exposition::kBounds) + 1);
}

}  // namespace
}  // namespace ipuctl::metrics
