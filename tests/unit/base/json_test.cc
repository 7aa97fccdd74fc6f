// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/support/outcome.h"

namespace base {
namespace {

std::string nested(int levels) {
  return std::string(static_cast<size_t>(levels), '[') +
         std::string(static_cast<size_t>(levels), ']');
}

// What a document becomes when it is read and written.
std::string round_trip(const std::string& text) {
  const Result<Json> json = parse_json(text, "x");
  return json.ok() ? to_text(json.value()) : json.error().message();
}

TEST(ParseJson, KeepsTheOrderOfKeys) {
  EXPECT_EQ(round_trip(R"({"z":1,"a":2,"m":{"y":3,"b":4}})"), R"({"z":1,"a":2,"m":{"y":3,"b":4}})");
}

TEST(ParseJson, KeepsNumbers) {
  const std::string text =
      R"([18446744073709551615,-9223372036854775808,9007199254740993,0.1,1.5e-07,-0.0])";
  EXPECT_EQ(round_trip(text), text);
}

TEST(ParseJson, KeepsTextsAndLiterals) {
  const std::string text = R"(["a\"\\b\n",null,true,false,{},[],{"a":[{"b":[]}],"c":{}}])";
  EXPECT_EQ(round_trip(text), text);
}

TEST(ParseJson, IsWrittenAgainInAscii) {
  EXPECT_EQ(round_trip("[\"é€😀\xc2\x9b\xe2\x80\xae\x7f\"]"),
            R"(["\u00e9\u20ac\ud83d\ude00\u009b\u202e\u007f"])");
}

TEST(ParseJson, RefusesAKeyThatStandsTwiceInOneObject) {
  const Result<Json> result = parse_json(R"({"a":{"env":1,"b":2,"env":3}})", "config.json");
  EXPECT_TRUE(test::fails(result, Code::kInvalid, "config.json: key 'env' appears twice"));
  EXPECT_TRUE(test::succeeds(parse_json(R"({"a":{"b":1},"b":{"a":1}})", "x")));
}

TEST(ParseJson, SeesThatAKeyIsTheSameBehindAnEscape) {
  EXPECT_FALSE(parse_json(R"({"env":1,"\u0065nv":2})", "x").ok());
}

TEST(ParseJson, NamesThePositionOfAnError) {
  const Result<Json> result = parse_json("{\n  \"a\": 1,\n  \"b\" 2\n}", "config.json");
  EXPECT_TRUE(test::fails(result, Code::kInvalid, "config.json: not valid JSON"));
  EXPECT_TRUE(test::fails(result, Code::kInvalid, "line 3"));
}

TEST(ParseJson, RefusesWhatIsNoDocument) {
  for (const std::string text : {"{", "}", "{\"a\":1,}", "[1 2]", "{} {}", "// c\n{}", "'a'", "nul",
                                 "{\"a\":\"\n\"}", "1e400", "\"\xff\"", "\"\xc3\""}) {
    EXPECT_TRUE(test::fails(parse_json(text, "x"), Code::kInvalid, "x: not valid JSON"))
        << quote(text);
  }
}

TEST(ParseJson, SaysThatATextIsEmpty) {
  for (const std::string_view text : {"", " \n"}) {
    EXPECT_TRUE(test::fails(parse_json(text, "x"), Code::kInvalid, "x: empty"));
  }
}

TEST(ParseJson, RefusesAByteOrderMark) {
  EXPECT_TRUE(test::fails(parse_json("\xEF\xBB\xBF{}", "x"), Code::kInvalid,
                          "x: starts with a byte order"));
}

TEST(ParseJson, GivesErrorsOfOneLineWhateverTheTextHolds) {
  const Result<Json> result = parse_json("{\"a\n\x1b[31m", "x");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message().find_first_of("\n\x1b"), std::string::npos);
  EXPECT_LT(result.error().message().size(), 300U);
}

TEST(ParseJson, RefusesDeepNestingBeforeItParses) {
  EXPECT_TRUE(test::succeeds(parse_json(nested(128), "x")));
  EXPECT_TRUE(test::fails(parse_json(nested(129), "x"), Code::kInvalid, "nested deeper than 128"));
  EXPECT_FALSE(parse_json(std::string(1 << 20, '['), "x").ok());
}

TEST(ParseJson, RefusesAnObjectOfSoManyKeysThatItTakesLong) {
  const auto with_keys = [](int count) {
    std::string text = "{\"k\":\":\"";
    for (int i = 1; i < count; ++i) text += str(",\"", i, "\":{}");
    return text + "}";
  };
  EXPECT_TRUE(test::succeeds(parse_json(with_keys(4096), "x")));
  EXPECT_TRUE(test::fails(parse_json(with_keys(4097), "x"), Code::kInvalid,
                          "x: an object has more than 4096 keys"));
}

// What takes quadratic time is not done within the limit of a test.
TEST(ParseJson, TakesLinearTimeForManyValues) {
  std::string many;
  for (int i = 0; i < 499'000; ++i) many += i == 0 ? "{}" : ",{}";
  EXPECT_TRUE(test::succeeds(parse_json("[" + many + "]", "x")));
  EXPECT_TRUE(test::succeeds(parse_json(str("{\"a\":[", many, "],\"b\":{}}"), "x")));
}

TEST(ParseJson, RefusesMoreThanAMillionValues) {
  const auto with_values = [](size_t count) {
    std::string text = "[0";
    for (size_t i = 2; i < count; ++i) text += ",0";
    return text + "]";
  };
  EXPECT_TRUE(test::succeeds(parse_json(with_values(1'000'000), "x")));
  EXPECT_TRUE(test::fails(parse_json(with_values(1'000'001), "x"), Code::kInvalid,
                          "x: has more than 1000000 values"));
}

TEST(ParseJson, DoesNotCountBracketsInsideOfTexts) {
  EXPECT_TRUE(test::succeeds(parse_json("[\"\\\"" + std::string(200, '[') + "\"]", "x")));
}

TEST(ToText, ReplacesInvalidUtf8) { EXPECT_EQ(to_text(Json("a\xff")), "\"a\\ufffd\""); }

TEST(ToPrettyText, IndentsByTwoAndEndsTheLine) {
  EXPECT_EQ(to_pretty_text(Json{{"a", {1}}}), "{\n  \"a\": [\n    1\n  ]\n}\n");
}

TEST(GetString, TakesOnlyAString) {
  const Json object = {{"text", "a"}, {"number", 1}, {"nothing", nullptr}};
  EXPECT_EQ(get_string(object, "text", "x").value(), "a");
  for (const char* key : {"number", "nothing", "absent"}) {
    EXPECT_TRUE(test::fails(get_string(object, key, "state"), Code::kInvalid,
                            str("state: key '", key, "' is missing or not a string")));
  }
  EXPECT_FALSE(get_string(Json::array(), "text", "x").ok());
}

TEST(GetInt, TakesOnlyAWholeNumberThatFits) {
  const Json object = parse_json(R"({"a":-1,"b":1.0,"c":"1","d":18446744073709551615,
                                     "e":9223372036854775807})",
                                 "x")
                          .take();
  EXPECT_EQ(get_int(object, "a", "x").value(), -1);
  EXPECT_EQ(get_int(object, "e", "x").value(), INT64_MAX);
  for (const char* key : {"b", "c", "d", "absent"}) {
    EXPECT_TRUE(test::fails(get_int(object, key, "state"), Code::kInvalid, "a whole number"))
        << key;
  }
  EXPECT_FALSE(get_int(Json("text"), "a", "x").ok());
}

}  // namespace
}  // namespace base
