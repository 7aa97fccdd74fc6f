// SPDX-License-Identifier: Apache-2.0
#include "base/line_diff.h"

#include <gtest/gtest.h>

namespace base {
namespace {

TEST(LineDiffTest, EqualTextsHaveNone) {
  EXPECT_EQ(line_diff("", ""), "");
  EXPECT_EQ(line_diff("a\nb\n", "a\nb\n"), "");
}

TEST(LineDiffTest, ShowsWhatChangesWithWhatIsAround) {
  EXPECT_EQ(line_diff("1\n2\n3\n4\n5\n6\n7\n8\n", "1\n2\n3\n4\nx\ny\n6\n7\n8\n"),
            " 2\n 3\n 4\n-5\n+x\n+y\n 6\n 7\n 8\n");
}

TEST(LineDiffTest, ANewTextIsAllNew) { EXPECT_EQ(line_diff("", "a\nb\n"), "+a\n+b\n"); }

TEST(LineDiffTest, ATextThatGoesIsAllOld) { EXPECT_EQ(line_diff("a\n", ""), "-a\n"); }

TEST(LineDiffTest, ALineThatComesAgainIsCountedOnce) {
  EXPECT_EQ(line_diff("a\n", "a\na\n"), " a\n+a\n");
  EXPECT_EQ(line_diff("a\na\n", "a\n"), " a\n-a\n");
}

}  // namespace
}  // namespace base
