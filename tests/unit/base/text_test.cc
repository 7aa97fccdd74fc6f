// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/outcome.h"

namespace base {
namespace {

TEST(Str, JoinsTextCharactersAndNumbers) {
  const uint8_t small = 7;
  EXPECT_EQ(str("a", std::string("b"), 'c', -1, small, UINT64_MAX), "abc-1718446744073709551615");
}

TEST(Quote, MakesOneSafeLine) {
  EXPECT_EQ(quote("abc"), "'abc'");
  EXPECT_EQ(quote(""), "''");
  EXPECT_EQ(quote("a\nb\x1b[31m\x7f"), "'a?b?[31m?'");
  EXPECT_EQ(quote(std::string_view("a\0b", 3)), "'a?b'");
}

TEST(Quote, CutsALongTextAndShowsIt) {
  EXPECT_EQ(quote(std::string(80, 'x')), "'" + std::string(80, 'x') + "'");
  EXPECT_EQ(quote(std::string(81, 'x')), "'" + std::string(80, 'x') + "...'");
}

TEST(OneLine, ReplacesControlCharactersAndCuts) {
  EXPECT_EQ(one_line("a\r\nb\tc", 100), "a  b c");
  EXPECT_EQ(one_line("abcdef", 3), "abc");
  EXPECT_EQ(one_line("", 3), "");
}

TEST(OneLine, ReplacesWhatMovesOrReversesTheTextOfATerminal) {
  // CSI as one C1 character, next line, line separator, right-to-left override and isolate, marks.
  EXPECT_EQ(one_line("a\xc2\x9b"
                     "31m",
                     100),
            "a 31m");
  EXPECT_EQ(one_line("\xc2\x85|\xe2\x80\xa8|\xe2\x80\xa9|\xe2\x80\xae|\xe2\x81\xa7", 100),
            " | | | | ");
  EXPECT_EQ(one_line("\xd8\x9c|\xe2\x80\x8e|\xe2\x80\x8f", 100), " | | ");
  EXPECT_EQ(quote("\xe2\x80\xaeipu"), "'?ipu'");
}

TEST(OneLine, KeepsOtherCharacters) {
  const std::string text = "é \xc2\xa0 ← € 😀 שלום";
  EXPECT_EQ(one_line(text, 100), text);
}

TEST(OneLine, ReplacesBytesThatAreNoUtf8) {
  for (const std::string_view bytes : {"\x80", "\x9b", "\xc0\x9b", "\xe2\x80", "\xed\xa0\x80",
                                       "\xf0\x82\x82\xac", "\xf4\x90\x80\x80", "\xff"}) {
    EXPECT_EQ(one_line(bytes, 100), std::string(bytes.size(), ' '));
  }
}

TEST(OneLine, CutsBetweenCharacters) {
  EXPECT_EQ(one_line("ab€", 4), "ab");
  EXPECT_EQ(one_line("ab€", 5), "ab€");
}

TEST(SafeLines, KeepsNewlinesAlone) { EXPECT_EQ(safe_lines("a\n\xc2\x9b\tb\r\n"), "a\n  b \n"); }

TEST(Trim, TakesWhiteSpaceFromBothEndsOnly) {
  EXPECT_EQ(trim(" \t\r\na b\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Split, GivesAllPiecesAlsoEmptyOnes) {
  using Pieces = std::vector<std::string_view>;
  EXPECT_EQ(split("a:b", ':'), (Pieces{"a", "b"}));
  EXPECT_EQ(split("a::b:", ':'), (Pieces{"a", "", "b", ""}));
  EXPECT_EQ(split("", ':'), (Pieces{""}));
  EXPECT_EQ(split(":", ':'), (Pieces{"", ""}));
}

TEST(Join, PutsTheSeparatorOnlyBetween) {
  EXPECT_EQ(join({}, ", "), "");
  EXPECT_EQ(join({"a"}, ", "), "a");
  EXPECT_EQ(join({"a", "", "b"}, ", "), "a, , b");
}

TEST(ParseInt, TakesWholeNumbersInTheRange) {
  EXPECT_EQ(parse_int<int>("-5", -5, 5).value(), -5);
  EXPECT_EQ(parse_int<int>("5", -5, 5).value(), 5);
  EXPECT_EQ(parse_int<uint64_t>("18446744073709551615", 0, UINT64_MAX).value(), UINT64_MAX);
  EXPECT_EQ(parse_int<int64_t>("-9223372036854775808", INT64_MIN, 0).value(), INT64_MIN);
  EXPECT_EQ(parse_int<int>("007", 0, 10).value(), 7);
}

TEST(ParseInt, RefusesAllElse) {
  for (const std::string_view text :
       {"", " ", " 1", "1 ", "+1", "--1", "-", "4x", "x4", "0x4", "1.0", "1e3", "\n1",
        "999999999999", "-999999999999", "99999999999999999999999", "-1", "11"}) {
    EXPECT_TRUE(test::fails(parse_int<int>(text, 0, 10), Code::kInvalid,
                            "is not a whole number from 0 to 10"))
        << quote(text);
  }
  EXPECT_FALSE(parse_int<uint32_t>("-1", 0, 10).ok());
  EXPECT_FALSE(parse_int<int>(std::string_view("1\0", 2), 0, 10).ok());
}

TEST(ParseInt, NamesTheTextInItsError) {
  EXPECT_TRUE(test::fails(parse_int<int>("4x", 0, 10), Code::kInvalid, "'4x'"));
}

TEST(ParseDuration, TakesEachUnit) {
  using std::chrono::milliseconds;
  EXPECT_EQ(parse_duration("250ms").value(), milliseconds(250));
  EXPECT_EQ(parse_duration("90s").value(), milliseconds(90'000));
  EXPECT_EQ(parse_duration("5m").value(), milliseconds(300'000));
  EXPECT_EQ(parse_duration("1h").value(), milliseconds(3'600'000));
  EXPECT_EQ(parse_duration("0s").value(), milliseconds(0));
  EXPECT_EQ(parse_duration("24h").value(), std::chrono::hours(24));
  EXPECT_EQ(parse_duration("1d").value(), std::chrono::hours(24));
}

TEST(ParseDuration, HasTheLimitThatTheCallerGives) {
  const std::chrono::hours week(7 * 24);
  EXPECT_EQ(parse_duration("7d", week).value(), week);
  EXPECT_TRUE(test::fails(parse_duration("8d", week), Code::kInvalid, "at most 168h"));
}

TEST(ParseDuration, RefusesAllElse) {
  for (const std::string_view text :
       {"", "90", "s", "ms", "-1s", "1.5s", "1 s", "1s ", "1h30m", "1S", "-25h"}) {
    EXPECT_TRUE(test::fails(parse_duration(text), Code::kInvalid,
                            "is not a duration such as 250ms, 90s, 5m, 1h or 1d (at most 24h)"))
        << quote(text);
  }
}

TEST(ParseDuration, SaysThatOneIsTooLong) {
  for (const std::string_view text : {"2d", "25h", "86401s", "99999999999999999999h"}) {
    EXPECT_TRUE(test::fails(parse_duration(text), Code::kInvalid,
                            str(quote(text), " is too long; give at most 24h")));
  }
}

TEST(FormatDuration, GivesWhatParseDurationTakes) {
  for (const std::string_view text : {"0s", "1ms", "1500ms", "90s", "15m", "25h", "7d"}) {
    const auto time = parse_duration(text, std::chrono::hours(7 * 24));
    ASSERT_TRUE(test::succeeds(time));
    EXPECT_EQ(format_duration(time.value()), text);
  }
  EXPECT_EQ(format_duration(std::chrono::seconds(3600)), "1h");
}

TEST(RandomHex, HasTwoDigitsAByteAndDiffersEachTime) {
  const std::string first = random_hex(16).value();
  EXPECT_EQ(first.size(), 32U);
  EXPECT_EQ(first.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(first, random_hex(16).value());
  EXPECT_EQ(random_hex(0).value(), "");
}

}  // namespace
}  // namespace base
