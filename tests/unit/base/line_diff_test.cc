// SPDX-License-Identifier: Apache-2.0
#include "base/line_diff.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"

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

TEST(LineDiffTest, LeavesOutWhatIsEqualBetweenChangesThatAreFarApart) {
  EXPECT_EQ(line_diff("a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n", "A\nb\nc\nd\ne\nf\ng\nh\ni\nJ\n"),
            "-a\n+A\n b\n c\n d\n@@\n g\n h\n i\n-j\n+J\n");
}

TEST(LineDiffTest, FindsWhatIsNewBetweenEqualLines) {
  EXPECT_EQ(line_diff("a\nb\nc\n", "x\na\ny\nb\nc\nz\n"), "+x\n a\n+y\n b\n c\n+z\n");
}

TEST(LineDiffTest, ShowsTheWholeOfWhatIsTooLongToCompare) {
  std::string before;
  std::string after;
  for (int i = 0; i < 3000; ++i) {
    before += str(i, "\n");
    after += str(i + 1, "\n");
  }
  const std::string diff = line_diff(before, after);
  EXPECT_EQ(diff.substr(0, 6), "-0\n-1\n");
  EXPECT_EQ(std::count(diff.begin(), diff.end(), '\n'), 6000);
}

}  // namespace
}  // namespace base
