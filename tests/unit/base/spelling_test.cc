// SPDX-License-Identifier: Apache-2.0
#include "base/spelling.h"

#include <gtest/gtest.h>

#include <string>

namespace base {
namespace {

TEST(Spelling, CountsOneSlipInFiveCharacters) {
  for (const char* text : {"pool", "pol", "pooll", "opol", "pxol"})
    EXPECT_TRUE(is_misspelled(text, "pool")) << text;
  for (const char* text : {"", "po", "plo", "polish", "loop"})
    EXPECT_FALSE(is_misspelled(text, "pool")) << text;
  EXPECT_TRUE(is_misspelled("reservatoin", "reservation"));
  EXPECT_TRUE(is_misspelled("resrvatoin", "reservation"));
  EXPECT_FALSE(is_misspelled("rsrvatoin", "reservation"));
}

TEST(Spelling, TakesNoLongWords) {
  const std::string longest(64, 'x');
  EXPECT_TRUE(is_misspelled(longest, longest));
  EXPECT_FALSE(is_misspelled(longest + "x", longest));
  EXPECT_FALSE(is_misspelled(longest, longest + "x"));
}

}  // namespace
}  // namespace base
