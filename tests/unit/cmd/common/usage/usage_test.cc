// SPDX-License-Identifier: Apache-2.0
#include "cmd/common/usage/usage.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include <algorithm>

namespace usage {
namespace {

// A program with a command of each kind.
class UsageTest : public testing::Test {
 protected:
  UsageTest() {
    app_.require_subcommand(1);
    CLI::App* group = app_.add_subcommand("box", "Boxes");
    group->require_subcommand(1);
    CLI::App* make = group->add_subcommand("make", "Make one");
    make->add_option("NAME", name_, "Name of the box")->required()->type_name("");
    make->add_option("-p,--pool", pool_, "Pool")->type_name("POOL");
    make->add_option("--size", size_, "Size")->type_name("N");
    make->add_flag("--force", force_, "Force");
    const auto refuse = [](const std::string&) {
      throw CLI::ValidationError("--time", "'x' is not a time");
    };
    make->add_option_function<std::string>("--time", refuse, "Time")->type_name("TIME");
  }
  // What a user reads of "prog WORDS".
  std::string refusal(std::vector<std::string> words) {
    std::reverse(words.begin(), words.end());
    try {
      app_.parse(words);
    } catch (const CLI::ParseError& error) {
      const base::Error ours = error_of(app_, error);
      EXPECT_EQ(ours.code(), base::Code::kInvalid);
      return ours.message();
    }
    return "accepted";
  }

  CLI::App app_{"A program", "prog"};
  std::string name_;
  std::string pool_;
  int size_ = 0;
  bool force_ = false;
};

TEST_F(UsageTest, NamesTheCommandAsFarAsItWasUnderstood) {
  EXPECT_EQ(refusal({"box", "make", "a"}), "accepted");
  EXPECT_EQ(command_of(app_), "prog box make");
}

TEST_F(UsageTest, SaysWhatIsUnknown) {
  EXPECT_EQ(refusal({"frob"}), "unknown command 'frob'; see 'prog --help'");
  EXPECT_EQ(refusal({"bxo"}), "unknown command 'bxo' (did you mean 'box'?); see 'prog --help'");
  EXPECT_EQ(refusal({"--frob"}), "unknown option '--frob'; see 'prog --help'");
  EXPECT_EQ(refusal({"box", "frob"}), "unknown command 'frob'; see 'prog box --help'");
  EXPECT_EQ(refusal({"box", "make", "--szie"}),
            "unknown option '--szie' (did you mean '--size'?); see 'prog box make --help'");
  EXPECT_EQ(refusal({"box", "make", "--frob"}),
            "unknown option '--frob'; see 'prog box make --help'");
  EXPECT_EQ(refusal({"box", "make", "a", "b", "c"}),
            "unexpected argument 'b'; see 'prog box make --help'");
}

TEST_F(UsageTest, SaysWhatIsMissing) {
  EXPECT_EQ(refusal({}), "'prog' needs a command; see 'prog --help'");
  EXPECT_EQ(refusal({"box"}), "'prog box' needs a command; see 'prog box --help'");
  EXPECT_EQ(refusal({"box", "make"}),
            "'NAME' is missing: Name of the box; see 'prog box make --help'");
  EXPECT_EQ(refusal({"box", "make", "a", "--pool"}),
            "'--pool' needs a value: POOL; see 'prog box make --help'");
  EXPECT_EQ(refusal({"box", "make", "a", "-p"}),
            "'--pool' needs a value: POOL; see 'prog box make --help'");
}

TEST_F(UsageTest, SaysWhatIsWrongWithAValue) {
  EXPECT_EQ(refusal({"box", "make", "a", "--size", "x"}),
            "--size 'x' is not accepted: give N; see 'prog box make --help'");
  EXPECT_EQ(refusal({"box", "make", "a", "--pool", "x", "--pool", "y"}),
            "'--pool' is given 2 times; give it once; see 'prog box make --help'");
  EXPECT_EQ(refusal({"box", "make", "a", "--force=maybe"}),
            "'--force' takes no value; see 'prog box make --help'");
  EXPECT_EQ(refusal({"box", "make", "a", "--time", "x"}),
            "--time: 'x' is not a time; see 'prog box make --help'");
}

}  // namespace
}  // namespace usage
