// SPDX-License-Identifier: Apache-2.0
#include "cmd/common/rpc/transport/fields.h"

#include <gtest/gtest.h>

#include <string>

namespace transport {
namespace {

// A field with a length of less than 128.
std::string field(const std::string& bytes) {
  return "\x0a" + std::string(1, static_cast<char>(bytes.size())) + bytes;
}

std::string times(size_t count, const std::string& bytes) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += bytes;
  return all;
}

TEST(FieldsTest, CountsWhatParsingWouldMake) {
  EXPECT_FALSE(has_too_many_fields(""));
  EXPECT_FALSE(has_too_many_fields(times(kMostFields, field(""))));
  EXPECT_TRUE(has_too_many_fields(times(kMostFields + 1, field(""))));
  EXPECT_TRUE(has_too_many_fields(times(kMostFields / 2 + 1, field(field(""))))) << "inner ones";
  EXPECT_TRUE(has_too_many_fields(times(kMostFields + 1, std::string("\x08\x01", 2))));
}

TEST(FieldsTest, CountsNoTextBelowTheDeepestMessage) {
  const std::string text = field(times(60, std::string("\x08\x01", 2)));
  const std::string many = times(kMostFields / 30, field(text));
  EXPECT_TRUE(has_too_many_fields(many));
  EXPECT_TRUE(has_too_many_fields(many, 2));
  EXPECT_FALSE(has_too_many_fields(many, 1));
}

TEST(FieldsTest, EndsWhereAMessageCannotGoOn) {
  EXPECT_FALSE(has_too_many_fields(std::string(1'000'000, '\xff')));
  EXPECT_FALSE(
      has_too_many_fields("\x0a\x7f"
                          "short"));
  std::string deep;
  for (int i = 0; i < 100; ++i) deep = field(deep.substr(0, 120));
  EXPECT_FALSE(has_too_many_fields(deep));
}

// A thousand partitions of four IPUs, each with ten values.
TEST(FieldsTest, LetsALargePodPass) {
  const std::string ipu = field(times(10, std::string("\x08\x01", 2)));
  const std::string partition = field(field("a-partition-with-a-long-name") + times(4, ipu));
  EXPECT_FALSE(has_too_many_fields(times(1024, partition)));
}

}  // namespace
}  // namespace transport
