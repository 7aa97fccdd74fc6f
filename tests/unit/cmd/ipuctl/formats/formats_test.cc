// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/formats/formats.h"

#include <gtest/gtest.h>

namespace ipuctl::formats {
namespace {

using base::Json;

TEST(CsvTest, HasTheKeysAndALineForEachObject) {
  EXPECT_EQ(csv_text(Json{{{"pool", "a"}, {"ipus", 4}}, {{"pool", "b"}, {"ipus", nullptr}}}),
            "pool,ipus\na,4\nb,\n");
  EXPECT_EQ(csv_text(Json::array()), "");
}

TEST(CsvTest, HasNoFormula) {
  EXPECT_EQ(csv_text(Json{{{"tenant", "=HYPERLINK(1)"}, {"ipus", -4}}}),
            "tenant,ipus\n\"'=HYPERLINK(1)\",-4\n");
  for (const std::string text : {"+1", "-1", "@a", "\tx"})
    EXPECT_EQ(csv_quoted(text), "\"'" + text + "\"");
  for (const std::string text : {"", "a=1", "4"}) EXPECT_EQ(csv_quoted(text), "\"" + text + "\"");
}

TEST(CsvTest, KeysThatSomeObjectsLackAreEmptyCells) {
  EXPECT_EQ(csv_text(Json{{{"a", 1}}, {{"b", true}, {"a", 2}}}), "a,b\n1,\n2,true\n");
}

TEST(CsvTest, NoTextEndsItsCell) {
  EXPECT_EQ(csv_text(Json{{{"name", "a,b\"c\nd"}, {"list", {1, "x"}}}}),
            "name,list\n\"a,b\"\"c\nd\",\"[1,\"\"x\"\"]\"\n");
}

TEST(YamlTest, HasBlocksOfMembersAndItems) {
  const Json value = {
      {{"pool", "a"}, {"usage", {{"used", 4}}}, {"warm", Json::array()}},
      {{"pool", "b"}, {"usage", nullptr}, {"warm", {{{"size", 4}, {"have", 1}}, 7}}}};
  EXPECT_EQ(yaml_text(value),
            "- pool: \"a\"\n"
            "  usage:\n"
            "    used: 4\n"
            "  warm: []\n"
            "- pool: \"b\"\n"
            "  usage: null\n"
            "  warm:\n"
            "    - size: 4\n"
            "      have: 1\n"
            "    - 7\n");
  EXPECT_EQ(yaml_text(Json::array()), "[]\n");
  EXPECT_EQ(yaml_text(Json::object()), "{}\n");
}

TEST(YamlTest, AListInAListIsAnItem) {
  EXPECT_EQ(yaml_text(Json{{{1, 2}, Json::array()}, {Json{{"ab", 1}}}}),
            "- - - 1\n"
            "    - 2\n"
            "  - []\n"
            "- - ab: 1\n");
}

TEST(YamlTest, ATextStaysAText) {
  EXPECT_EQ(yaml_text(Json{{"name", "no"}}), "name: \"no\"\n");
  EXPECT_EQ(yaml_text(Json{{"name", "a: b\n- c #\x1b"}}), "name: \"a: b\\n- c #\\u001b\"\n");
  EXPECT_EQ(yaml_text(Json{{"y", "12"}}), "\"y\": \"12\"\n");
  EXPECT_EQ(yaml_text(Json{{"a b", 1}}), "\"a b\": 1\n");
}

TEST(YamlTest, ACharacterBeyondTheBasicPlaneIsOneEscape) {
  EXPECT_EQ(yaml_text(Json{{"name", "\xf0\x9f\x98\x80\\u\xc3\xa4"}}),
            "name: \"\\U0001f600\\\\u\\u00e4\"\n");
}

}  // namespace
}  // namespace ipuctl::formats
