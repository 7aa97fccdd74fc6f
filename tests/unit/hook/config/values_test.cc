// SPDX-License-Identifier: Apache-2.0
// Values of the configuration, and what is said of a file that is no TOML.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace hook::config
