// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-agent/protocol/request.h"

#include <gtest/gtest.h>

#include "tests/support/outcome.h"

namespace agent {
namespace {

using base::Code;

TEST(WordsOf, TurnsARequestIntoACommandLine) {
  const auto words = words_of(
      R"({"command": "reserve", "name": "night", "ipus": "16", "wait": "1h", "output": "json"})");
  ASSERT_TRUE(test::succeeds(words));
  EXPECT_EQ(words.value(), (Words{"reserve", "night", "--ipus=16", "--wait=1h", "--output=json"}));
  const auto end = words_of(R"({"force": "true", "command": "reservation end", "name": "night"})");
  ASSERT_TRUE(test::succeeds(end));
  EXPECT_EQ(end.value(), (Words{"reservation", "end", "--force", "night"}));
}

TEST(WordsOf, ReadsWhatRequestLineWrites) {
  const Options options = {{"name", "night"}, {"for", "2h"}};
  ASSERT_TRUE(serves("reservation extend", options));
  const std::string line = request_line("reservation extend", options);
  ASSERT_TRUE(line.ends_with("}\n"));
  const auto words = words_of(line);
  ASSERT_TRUE(test::succeeds(words));
  EXPECT_EQ(words.value(), (Words{"reservation", "extend", "--for=2h", "night"}));
}

TEST(WordsOf, RefusesAllElse) {
  for (const char* line : {
           "",
           "ps",
           "[]",
           "\"ps\"",
           "{}",
           "null",
           R"({"command": ["ps"]})",
           R"({"command": "gc"})",
           R"({"command": "ps "})",
           R"({"command": "reservation"})",
           R"({"command": "queue", "container": "x"})",
           R"({"command": "queue cancel", "container": "--all"})",
           R"({"command": "queue cancel", "all": "yes"})",
           R"({"command": "lease"})",
           R"({"command": "lease refresh"})",
           R"({"command": "ps", "command": "ps"})",
           R"({"command": "ps", "name": "x"})",
           R"({"command": "ps", "pool": ""})",
           R"({"command": "ps", "pool": "-x"})",
           R"({"command": "ps", "pool": "a b"})",
           R"({"command": "ps", "pool": "a\nb"})",
           R"({"command": "ps", "pool": "a\u0000b"})",
           R"({"command": "ps", "pool": "a=b"})",
           R"({"command": "ps", "pool": "../x"})",
           "{\"command\": \"ps\", \"pool\": \"\xff\"}",
           R"({"command": "ps", "pool": 3})",
           R"({"command": "ps", "pool": null})",
           R"({"command": "explain", "bundle": "etc"})",
           R"({"command": "explain", "lease": "--bundle"})",
           R"({"command": "reserve", "owner": "root"})",
           R"({"command": "reservation end", "name": "x", "force": "false"})",
           R"({"command": "ps"} x)",
       }) {
    const auto words = words_of(line);
    ASSERT_FALSE(words.ok()) << line;
    EXPECT_EQ(words.error().code(), Code::kInvalid) << line;
  }
  const std::string longest(128, 'x');
  EXPECT_TRUE(words_of(R"({"command": "explain", "lease": ")" + longest + "\"}").ok());
  EXPECT_FALSE(words_of(R"({"command": "explain", "lease": ")" + longest + "x\"}").ok());
}

TEST(CheckWords, TakesWhatWordsOfReturnsAndNothingElse) {
  for (const Words& words : std::vector<Words>{{"ps"},
                                               {"ps", "--pool=x"},
                                               {"pool", "list", "--output=json"},
                                               {"reserve", "--ipus=4", "night"},
                                               {"reservation", "end", "--force", "night"},
                                               {"queue", "cancel", "--all", "--pool=x"},
                                               {"queue", "cancel", "night"},
                                               {"lease", "show", "0123", "--output=json"},
                                               {"explain", "0123"}}) {
    EXPECT_TRUE(test::succeeds(check_words(words)));
  }
  for (const Words& words : std::vector<Words>{{},
                                               {""},
                                               {"gc"},
                                               {"pool"},
                                               {"pool", "refill"},
                                               {"ps", "x"},
                                               {"ps", ""},
                                               {"ps", "--pool"},
                                               {"ps", "--pool="},
                                               {"ps", "--pool=-x"},
                                               {"ps", "--force"},
                                               {"queue", "cancel", "--force"},
                                               {"queue", "cancel", "a", "b"},
                                               {"queue", "x"},
                                               {"lease", "refresh"},
                                               {"lease", "show", "--pool=x"},
                                               {"explain", "--bundle=x"},
                                               {"explain", "a", "b"},
                                               {"explain", "a/b"},
                                               {"explain", "-o"},
                                               {"reserve", "--owner=root", "x"},
                                               {"reservation", "x"},
                                               {"--for-user", "0", "ps"}}) {
    const base::Status checked = check_words(words);
    ASSERT_FALSE(checked.ok()) << (words.empty() ? "" : words.back());
    EXPECT_EQ(checked.error().code(), Code::kDenied);
  }
}

TEST(Serves, KnowsTheOptionsOfEachCommand) {
  EXPECT_TRUE(serves("ps", {{"output", "json"}}));
  EXPECT_TRUE(serves("reservation end", {{"name", "x"}, {"force", "true"}}));
  EXPECT_FALSE(serves("explain", {{"bundle", "/x"}}));
  EXPECT_FALSE(serves("reserve", {{"owner", "x"}}));
  EXPECT_FALSE(serves("doctor", {}));
  EXPECT_FALSE(serves("", {}));
}

}  // namespace
}  // namespace agent
