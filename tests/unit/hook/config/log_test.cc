// SPDX-License-Identifier: Apache-2.0
#include "hook/config/log.h"

#include <gtest/gtest.h>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/config/config.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace hook::config {
namespace {

using namespace base::names;

TEST(LogTable, SaysWhatIsLoggedAndWhere) {
  const auto log = [](std::string_view keys) {
    return parse_config(str("[pool]\nname = \"a\"\nprovider = \"pcie\"\n[log]\n", keys, "\n"),
                        "/etc/x.toml");
  };
  EXPECT_EQ(log("").take().log.level, std::nullopt);
  EXPECT_EQ(log("").take().log.file, log_file());
  const LogConfig config = log("level = \"info\"\nfile = \"/var/log/ipu/debug.log\"").take().log;
  EXPECT_EQ(config.level, base::LogLevel::kInfo);
  EXPECT_EQ(config.file, "/var/log/ipu/debug.log");
  for (const auto& [keys, says] : std::vector<std::pair<std::string, std::string>>{
           {"level = \"verbose\"",
            "log.level must be \"error\", \"warning\", \"info\" or \"debug\""},
           {"file = \"debug.log\"", "log.file must be an absolute path"},
           {"file = \"/var/log/\"", "log.file must be an absolute path"},
           {"files = \"/x\"", "log.files"}}) {
    EXPECT_TRUE(test::fails(log(keys), Code::kInvalid, says)) << keys;
  }
}

TEST(LogTable, IsReadFromAFileWithAnErrorElsewhere) {
  const test::TempDir dir;
  const std::string file = dir / "config.toml";
  const auto write = [&](std::string_view text) {
    ASSERT_TRUE(test::succeeds(base::write_atomic(file, text, {.mode = 0600})));
  };
  EXPECT_EQ(load_log(file).level, std::nullopt) << "absent";
  write("nonsense = 1\n[log]\nlevel = \"warning\"\n");
  EXPECT_EQ(load_log(file).level, base::LogLevel::kWarning);
  write("[log]\nlevel = 7\n");
  EXPECT_EQ(load_log(file).level, std::nullopt);
}

}  // namespace
}  // namespace hook::config
