// SPDX-License-Identifier: Apache-2.0
#include "vipu/plan/count.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/support/outcome.h"

namespace vipu::plan {
namespace {

constexpr uint64_t kMost = 1'000'000'000'000'000;

TEST(CountTest, ReadsWhatPeopleWrite) {
  const std::map<std::string, uint64_t> counts = {{"1", 1},
                                                  {"175000000000", 175'000'000'000},
                                                  {"175e9", 175'000'000'000},
                                                  {"1.3e9", 1'300'000'000},
                                                  {"1.3E9", 1'300'000'000},
                                                  {"336M", 336'000'000},
                                                  {"7b", 7'000'000'000},
                                                  {"0.5K", 500},
                                                  {"1.5T", 1'500'000'000'000},
                                                  {"12.0", 12},
                                                  {"2.50e1", 25},
                                                  {"1e15", kMost}};
  for (const auto& [text, expected] : counts) {
    const auto count = parse_count(text, kMost);
    ASSERT_TRUE(test::succeeds(count)) << text;
    EXPECT_EQ(count.value(), expected) << text;
  }
}

TEST(CountTest, RefusesWhatIsNoWholeNumberInItsBounds) {
  for (const std::string text : {"",
                                 "0",
                                 "0.0",
                                 "-1",
                                 "+1",
                                 " 1",
                                 "1 ",
                                 "1.5",
                                 "1.3e0",
                                 "1e",
                                 "e9",
                                 "B",
                                 ".5K",
                                 "5.K",
                                 ".",
                                 "1..2",
                                 "1e-3",
                                 "1e16",
                                 "1e31",
                                 "1e9999",
                                 "1e9e9",
                                 "7bb",
                                 "7kb",
                                 "0x10",
                                 "nan",
                                 "inf",
                                 "1,000",
                                 "1_000",
                                 "1e9B",
                                 "BERT",
                                 "1.1K.",
                                 "1000000000000001",
                                 "18446744073709551616",
                                 "99999999999999999999999999999999",
                                 "0.00000000000000000000000000000000001e30"}) {
    EXPECT_TRUE(test::fails(parse_count(text, kMost), base::Code::kInvalid,
                            "is not a whole number from 1 to 1000000000000000"))
        << text;
  }
}

}  // namespace
}  // namespace vipu::plan
