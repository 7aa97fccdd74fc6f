// SPDX-License-Identifier: Apache-2.0
// Values of the configuration, and what is said of a file that is no TOML.
#include <gtest/gtest.h>

#include <array>

#include "base/names.h"
#include "base/text.h"
#include "hook/config/config.h"
#include "tests/support/outcome.h"

namespace hook::config {
namespace {

using namespace base::names;

constexpr const char* kCards = "[[pool]]\nname = \"cards\"\nprovider = \"pcie\"\n";

TEST(ParseConfig, SaysThatAQuoteIsMissing) {
  for (const char* text :
       {"[pool]\nname = \"pod64\nprovider = 1", "[pool]\nname = 'pod64", "\na = \"\"\"x"})
    EXPECT_TRUE(test::fails(parse_config(text, "c"), Code::kInvalid,
                            "c line 2: the closing quote of a text is missing"))
        << text;
  EXPECT_TRUE(
      test::fails(parse_config("a = \"\\x\"", "c"), Code::kInvalid, "c line 1: Error while"));
  EXPECT_TRUE(
      test::fails(parse_config("a = pod64", "c"), Code::kInvalid,
                  "c line 1: the value is no number, and neither true nor false; put a text"));
}

TEST(ParseConfig, TakesEveryFormOfASizeOfSharedMemory) {
  const auto shm_of = [](const std::string& size) {
    const auto config = parse_config(str("[container]\nshm_size = \"", size, "\"\n", kCards), "c");
    return config.ok() ? config.value().container.shm_size : "refused";
  };
  EXPECT_EQ(parse_config(str(kCards), "c").value().container.shm_size, "50%");
  EXPECT_EQ(shm_of("16GiB"), "16g");
  EXPECT_EQ(shm_of("512MiB"), "512m");
  EXPECT_EQ(shm_of("100%"), "100%");
  EXPECT_EQ(shm_of("engine"), "");
  for (const char* wrong : {"", "0%", "101%", "64", "64MB", "-1GiB", "1,size=2GiB", "1025GiB"})
    EXPECT_EQ(shm_of(wrong), "refused") << wrong;
}

// Pools of one file, with these parts.
base::Result<Config> with_parts(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    text += str("[[pool]]\nname = \"p", part,
                "\"\nprovider = \"ipuof\"\nfile = \"/p.conf\"\npart = \"", part, "\"\n");
  }
  return parse_config(text +
                          "[[network.rail]]\nparent = \"a\"\nsubnet = \"10.5.0.0/16\"\n"
                          "range = \"10.5.200.1-10.5.200.9\"\n",
                      "c");
}

TEST(Part, IsABlock) {
  for (const char* part : {"0-0", "7-7", "0-15", "16-31", "64-127", "0-255", "2048-4095"}) {
    EXPECT_TRUE(test::succeeds(with_parts({part}))) << part;
  }
  const std::vector<std::array<const char*, 3>> wrong = {{"0-11", "0-7", "0-15"},
                                                         {"8-23", "8-15", "0-31"},
                                                         {"1-2", "1-1", "0-3"},
                                                         {"3-20", "8-15", "0-31"},
                                                         {"4-6", "4-5", "4-7"}};
  for (const auto& [part, within, around] : wrong) {
    EXPECT_TRUE(test::fails(with_parts({part}), Code::kInvalid,
                            str("c: pool.part: '", part, "' is not a power of two of IPUs")));
    EXPECT_TRUE(test::fails(with_parts({part}), Code::kInvalid,
                            str("the nearest are \"", within, "\" and \"", around, "\"")));
    EXPECT_TRUE(test::succeeds(with_parts({within})));
    EXPECT_TRUE(test::succeeds(with_parts({around})));
  }
}

TEST(Part, IsFirstAndLast) {
  for (const char* part : {"16", "-", "0-", "-15", "15-0", "a-b", "0-4096", "0-15-31"})
    EXPECT_TRUE(test::fails(with_parts({part}), Code::kInvalid, "is not FIRST-LAST")) << part;
}

TEST(Part, IsApartFromThoseOfOtherPools) {
  EXPECT_TRUE(test::succeeds(with_parts({"0-15", "16-31", "32-63"})));
  EXPECT_TRUE(test::fails(with_parts({"0-15", "16-31", "0-63"}), Code::kInvalid,
                          "those of pools 'p0-15' and 'p0-63' overlap"));
}

// FIRST and SECOND are what two pools have beside their names.
Result<Config> with_pools(const std::string& first, const std::string& second) {
  return parse_config(str("[[pool]]\nname = \"a\"\n", first, "\n[[pool]]\nname = \"b\"\n", second,
                          "\n[[network.rail]]\nparent = \"a\"\nsubnet = \"10.5.0.0/16\"\n"
                          "range = \"10.5.200.1-10.5.200.9\"\n"),
                      "c");
}

TEST(Pools, HaveNoIpuInCommon) {
  const std::string cards = "provider = \"pcie\"\n";
  EXPECT_TRUE(test::succeeds(with_pools(cards + "groups = [[0, 1]]", cards + "groups = [[2, 3]]")));
  for (const char* groups : {"groups = [[2], [1]]", ""})
    EXPECT_TRUE(test::fails(with_pools(cards + "groups = [[0, 1]]", cards + groups), Code::kInvalid,
                            "pool.groups must be set in each pool of cards, and without a card of"
                            " another pool; pools 'a' and 'b' have cards in common"));
  const std::string file = "provider = \"ipuof\"\nfile = \"/p.conf\"\n";
  EXPECT_TRUE(test::fails(with_pools(file, file + "part = \"0-3\""), Code::kInvalid,
                          "pool.part must be set in each pool of one file"));
  EXPECT_TRUE(test::succeeds(with_pools(file, "provider = \"ipuof\"\nfile = \"/q.conf\"")));
}

}  // namespace
}  // namespace hook::config
