// SPDX-License-Identifier: Apache-2.0
#include "base/json_rewrite.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace base {
namespace {

std::string rewritten(std::string_view text, const std::function<void(Json&)>& edit) {
  const Json original = parse_json(text, "text").take();
  Json edited = original;
  edit(edited);
  std::string result = rewrite_json(text, original, edited);
  EXPECT_EQ(parse_json(result, "result").take(), edited) << result;
  return result;
}

TEST(JsonRewriteTest, WhatIsNotChangedKeepsItsBytes) {
  for (const std::string text :
       {R"( {"a" : 1.0e3 , "b":[ -0, 18446744073709551615,1E-2],"c":{},"é":"\u00e9\"]}" }  )",
        "[]\n", "7", "{\n\t\"x\": null\n}\n"}) {
    EXPECT_EQ(rewritten(text, [](Json&) {}), text);
  }
}

TEST(JsonRewriteTest, NumbersBesideAChangeStayAsTheyWereWritten) {
  EXPECT_EQ(rewritten(R"({"weight":1.0e3,"env":["A=1"],"limit":18446744073709551615,"z":-0})",
                      [](Json& json) { json["env"].push_back("B=2"); }),
            R"({"weight":1.0e3,"env":["A=1","B=2"],"limit":18446744073709551615,"z":-0})");
}

TEST(JsonRewriteTest, ANewMemberLooksLikeThoseAroundIt) {
  EXPECT_EQ(rewritten("{\n    \"log\": {\n        \"size\": \"10m\"\n    }\n}\n",
                      [](Json& json) { json["runtimes"]["ipu"]["path"] = "/p"; }),
            "{\n    \"log\": {\n        \"size\": \"10m\"\n    },\n    \"runtimes\": {\n        "
            "\"ipu\": {\n            \"path\": \"/p\"\n        }\n    }\n}\n");
  EXPECT_EQ(rewritten("{\"a\": 1, \"b\": 2}",
                      [](Json& json) {
                        json["c"] = {1, 2};
                      }),
            "{\"a\": 1, \"b\": 2, \"c\": [1,2]}");
}

TEST(JsonRewriteTest, AnEmptyObjectIsFilledOverLines) {
  const auto edit = [](Json& json) { json["runtimes"]["ipu"]["path"] = "/p"; };
  const std::string filled =
      "{\n  \"runtimes\": {\n    \"ipu\": {\n      \"path\": \"/p\"\n    }\n  }\n}";
  EXPECT_EQ(rewritten("{}", edit), filled);
  EXPECT_EQ(rewritten("{\n}\n", edit), filled + "\n");
  EXPECT_EQ(rewritten("{\n  \"runtimes\": {}\n}", edit), filled);
}

TEST(JsonRewriteTest, WhatGoesTakesItsCommaWithIt) {
  constexpr std::string_view kText = "{\n  \"a\": 1,\n  \"b\": [1, 2 , 3],\n  \"c\": 3\n}";
  EXPECT_EQ(rewritten(kText, [](Json& json) { json.erase("a"); }),
            "{\n  \"b\": [1, 2 , 3],\n  \"c\": 3\n}");
  EXPECT_EQ(rewritten(kText, [](Json& json) { json.erase("c"); }),
            "{\n  \"a\": 1,\n  \"b\": [1, 2 , 3]\n}");
  EXPECT_EQ(rewritten(kText, [](Json& json) { json["b"].erase(1); }),
            "{\n  \"a\": 1,\n  \"b\": [1, 3],\n  \"c\": 3\n}");
  EXPECT_EQ(rewritten("{\"a\":{\"b\":1}}", [](Json& json) { json["a"].erase("b"); }), "{\"a\":{}}");
}

TEST(JsonRewriteTest, ElementsOfAListKeepTheirBytesWhereverTheyGo) {
  EXPECT_EQ(rewritten(R"([{"n":1.50},{"n":2.50}])",
                      [](Json& json) {
                        json.insert(json.begin(), Json::object({{"n", 0}}));
                      }),
            R"([{"n":0},{"n":1.50},{"n":2.50}])");
}

TEST(JsonRewriteTest, AValueOfAnotherTypeIsWrittenAnew) {
  EXPECT_EQ(rewritten(R"({"a":null,"b":1})", [](Json& json) { json["a"] = Json::array({"x"}); }),
            R"({"a":["x"],"b":1})");
}

TEST(JsonRewriteTest, AddingAndTakingAwayLeavesTheTextAsItWas) {
  for (const std::string text : {"{\n  \"a\": 1\n}\n", "{\"a\":1}", "{ \"a\": [ 1, 2 ] }"}) {
    const std::string added = rewritten(text, [](Json& json) { json["ipu"]["path"] = "/p"; });
    EXPECT_EQ(rewritten(added, [](Json& json) { json.erase("ipu"); }), text);
  }
}

}  // namespace
}  // namespace base
