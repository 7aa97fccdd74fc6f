// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-agent/protocol/reply.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/outcome.h"

namespace agent {
namespace {

using base::Code;

TEST(Reply, IsOneLineAndReadAsItWasWritten) {
  const Reply reply{3, "a\nb\t\"c\"\xff\n", {"first", "second\nline"}, ""};
  const std::string line = reply_line(reply);
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  EXPECT_TRUE(line.ends_with('\n'));
  const auto read = parse_reply(line);
  ASSERT_TRUE(test::succeeds(read));
  EXPECT_EQ(read.value().exit, 3);
  EXPECT_EQ(read.value().text, "a\nb\t\"c\"\xef\xbf\xbd\n");
  EXPECT_EQ(read.value().errors, reply.errors);
  EXPECT_EQ(read.value().progress, "");
}

TEST(Reply, MayBeProgress) {
  const auto read = parse_reply(reply_line({0, "", {}, "WAITING"}));
  ASSERT_TRUE(test::succeeds(read));
  EXPECT_EQ(read.value().progress, "WAITING");
}

TEST(Reply, OfAnErrorHasItsExitStatus) {
  for (const Code code : {Code::kInvalid, Code::kBusy, Code::kInternal}) {
    const auto read = parse_reply(error_line({code, "no"}));
    ASSERT_TRUE(test::succeeds(read));
    EXPECT_EQ(read.value().exit, exit_code(code));
    EXPECT_EQ(code_of(read.value().exit), code);
    EXPECT_EQ(read.value().errors, std::vector<std::string>{"no"});
  }
}

TEST(Reply, IsNothingElse) {
  for (const char* line :
       {"", "{}", "[]", R"({"progress": 3})", R"({"progress": ""})", R"({"exit": 0})",
        R"({"exit": 0, "text": ""})", R"({"exit": "0", "text": "", "errors": []})",
        R"({"exit": 0, "text": "", "errors": "x"})", R"({"exit": 0, "text": "", "errors": [3]})"}) {
    EXPECT_FALSE(parse_reply(line).ok()) << line;
  }
}

}  // namespace
}  // namespace agent
