// SPDX-License-Identifier: Apache-2.0
#include "hook/engines/runtime_entry.h"

#include <gtest/gtest.h>

#include "base/fs.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace hook::engines {
namespace {

using base::Code;

TEST(RuntimeEntryTest, ANameIsAWordThatNoEngineHas) {
  for (const char* const name : {"ipu", "ipu-2", "Ipu_1.0", "4ipu", "runc2"}) {
    EXPECT_TRUE(test::succeeds(check_runtime_name(name))) << name;
  }
  for (const char* const name : {"", "-ipu", ".ipu", "i pu", "i/pu", "i\"", "i\n", "ipü"}) {
    EXPECT_TRUE(test::fails(check_runtime_name(name), Code::kInvalid, "must consist of letters"))
        << name;
  }
  for (const char* const name : {"runc", "io.containerd.runc.v2"}) {
    EXPECT_TRUE(test::fails(check_runtime_name(name), Code::kInvalid, "a runtime of the engines"))
        << name;
  }
}

TEST(RuntimeEntryTest, AProgramIsAFileThatCanBeStarted) {
  const test::TempDir dir;
  EXPECT_TRUE(test::succeeds(check_runtime_program("/bin/sh")));
  EXPECT_TRUE(test::fails(check_runtime_program(dir / "none"), Code::kNotFound, "does not exist"));
  EXPECT_TRUE(
      test::fails(check_runtime_program(dir.path()), Code::kDenied, "not an executable file"));
  ASSERT_TRUE(test::succeeds(base::write_atomic(dir / "text", "", {0644, {}, {}})));
  EXPECT_TRUE(
      test::fails(check_runtime_program(dir / "text"), Code::kDenied, "not an executable file"));
}

}  // namespace
}  // namespace hook::engines
