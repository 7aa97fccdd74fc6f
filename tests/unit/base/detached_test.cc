// SPDX-License-Identifier: Apache-2.0
#include "base/detached.h"

#include <fcntl.h>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/clock.h"
#include "base/fs.h"
#include "base/text.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace base {
namespace {

using std::chrono::milliseconds;

// What the program wrote to PATH by renaming a file there.
std::string wait_for_file(const std::string& path) {
  const Deadline patience = Deadline::after(milliseconds(10'000));
  while (!patience.passed()) {
    const auto text = read_file_if_exists(path, 65536);
    if (text.ok() && text.value()) return *text.value();
    sleep_for(milliseconds(5), patience);
  }
  ADD_FAILURE() << path << " was not written";
  return "";
}

TEST(StartDetached, RunsAloneWithNothingOfItsCaller) {
  const test::TempDir dir;
  const Fd kept = open_at(AT_FDCWD, "/dev/zero", O_RDONLY).take();
  ASSERT_EQ(::fcntl(kept.get(), F_SETFD, 0), 0);  // inheritable
  const std::string script =
      str("{ pwd; env | grep -v '^PWD=\\|^SHLVL=\\|^_=' | wc -l; echo $(readlink /proc/$$/fd/*);"
          " cut -d' ' -f6 /proc/$$/stat; } >",
          dir / "new", " 2>&1; mv ", dir / "new", " ", dir / "out");
  ASSERT_TRUE(test::succeeds(start_detached("/bin/sh", {"sh", "-c", script})));
  const std::string out = wait_for_file(dir / "out");
  const std::vector<std::string_view> lines = split(out, '\n');
  ASSERT_GE(lines.size(), 4U) << out;
  EXPECT_EQ(lines[0], "/");
  EXPECT_EQ(lines[1], "0") << "variables of the environment";
  EXPECT_EQ(lines[2].find("zero"), std::string_view::npos) << out;
  EXPECT_NE(lines[2].find("/dev/null"), std::string_view::npos) << out;
  EXPECT_NE(lines[3], std::to_string(::getsid(0))) << "its session";
}

TEST(StartDetached, LeavesNoChildBehind) {
  ASSERT_TRUE(test::succeeds(start_detached("/bin/true", {"true"})));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(StartDetached, RefusesWhatCannotBeExecuted) {
  const test::TempDir dir;
  EXPECT_TRUE(test::fails(start_detached(dir / "absent", {"absent"}), Code::kNotFound, "absent"));
}

}  // namespace
}  // namespace base
