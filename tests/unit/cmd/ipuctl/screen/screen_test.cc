// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/screen/screen.h"

#include <gtest/gtest.h>

namespace ipuctl::screen {
namespace {

TEST(ScreenTest, ALineIsNeverWiderThanTheTerminal) {
  EXPECT_EQ(fit("0123456789", 4), "0123");
  EXPECT_EQ(fit("0123", 4), "0123");
  EXPECT_EQ(fit("", 4), "");
  EXPECT_EQ(fit("abc", 0), "");
  EXPECT_EQ(fit("Z\xc3\xbcrich", 3), "Z\xc3\xbcr");
  EXPECT_EQ(padded("\xc3\xbc", 3), "\xc3\xbc  ");
  EXPECT_EQ(padded("abcd", 3), "abc");
}

TEST(ScreenTest, NoCharacterControlsTheTerminal) {
  EXPECT_EQ(fit("a\033[2Jb\x07\x9b"
                "c\n",
                80),
            "a [2Jb  c ");
  EXPECT_EQ(fit("a\xe2\x80\xae"
                "b",
                80),
            "a b");  // from right to left
}

TEST(ScreenTest, CharactersOfUnknownWidthAreQuestionMarks) {
  EXPECT_EQ(fit("\xe6\xbc\xa2x", 80), "?x");      // wide
  EXPECT_EQ(fit("e\xcc\x81x", 80), "e?x");        // combining
  EXPECT_EQ(fit("\xf0\x9f\x98\x80x", 80), "?x");  // beyond the basic plane
  EXPECT_EQ(fit("\xca\xbfx", 80), "\xca\xbfx");   // U+02BF, the last that is known
}

TEST(ScreenTest, APageIsDrawnOverTheEarlierOne) {
  EXPECT_EQ(drawing("a\nb\n", {80, 24}), "\033[Ha\033[K\r\nb\033[K\033[J");
  EXPECT_EQ(drawing("a\nb\nc", {80, 2}), "\033[Ha\033[K\r\nb\033[K\033[J");
  EXPECT_EQ(drawing("", {80, 2}), "\033[H\033[K\033[J");
}

TEST(ScreenTest, FitsEachLine) {
  EXPECT_EQ(fit_lines("abcdef\ng\033\n", 3), "abc\ng \n");
  EXPECT_EQ(fit_lines("ab", 3), "ab\n");
}

}  // namespace
}  // namespace ipuctl::screen
