// SPDX-License-Identifier: Apache-2.0
#include "hook/engines/daemon.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/signal.h"
#include "tests/support/outcome.h"
#include "tests/support/requires.h"
#include "tests/support/temp_dir.h"

namespace hook::engines {
namespace {

using base::Code;

std::optional<std::string> value(const std::vector<std::string>& args) {
  return option_value(args, {"-H", "--host"});
}

TEST(DaemonTest, AnOptionIsFoundInBothForms) {
  EXPECT_EQ(value({"d", "--host", "unix:///a"}), "unix:///a");
  EXPECT_EQ(value({"d", "--host=unix:///a"}), "unix:///a");
  EXPECT_EQ(value({"d", "-H", "a", "--host=b"}), "b");
}

TEST(DaemonTest, WhatIsNotGivenIsAbsent) {
  EXPECT_EQ(value({"d"}), std::nullopt);
  EXPECT_EQ(value({"d", "--host"}), std::nullopt);
  EXPECT_EQ(value({"d", "--hostname=x"}), std::nullopt);
  EXPECT_EQ(value({}), std::nullopt);
}

// A process of this test: a copy of sleep(1) at PATH, which calls itself NAME; with ENVIRONMENT, in
// a mount namespace of its own, as below rootlesskit.
class Sleeper {
 public:
  Sleeper(const std::string& path, const char* name, std::vector<const char*> environment = {}) {
    std::filesystem::copy_file("/bin/sleep", path);
    pid_ = ::fork();
    if (pid_ != 0) return;
    if (!environment.empty() && ::unshare(CLONE_NEWNS) != 0) ::_exit(126);
    environment.push_back(nullptr);
    ::execle(path.c_str(), name, "60", nullptr, environment.data());
    ::_exit(127);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  ~Sleeper() { end(); }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

std::vector<Daemon> find_daemon(pid_t pid, std::string_view name) {
  std::vector<Daemon> found;
  for (int i = 0; i < 500 && found.empty(); ++i) {
    for (Daemon& daemon : find_daemons("/proc", name)) {
      if (daemon.process.pid == pid) found.push_back(std::move(daemon));
    }
    ::usleep(10'000);
  }
  return found;
}

TEST(DaemonTest, ARunningOneIsFoundByTheNameOfItsProgramAndSignalled) {
  const test::TempDir dir;
  Sleeper sleeper(dir / "ipu-test-daemon", "/any/name");
  const std::vector<Daemon> found = find_daemon(sleeper.pid(), "ipu-test-daemon");
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found.front().args, (std::vector<std::string>{"/any/name", "60"}));
  EXPECT_EQ(found.front().config_home, "");
  EXPECT_TRUE(test::succeeds(base::signal_process(found.front().process, SIGCONT)));
}

TEST(DaemonTest, OfARootlessOneItIsKnownWhereItsUsersFilesAre) {
  REQUIRES_ROOT();
  const test::TempDir dir;
  const Sleeper sleeper(dir / "ipu-test-daemon", "dockerd",
                        {"HOME=/users/a", "ROOTLESSKIT_STATE_DIR=/x", "XDG_RUNTIME_DIR=/run/7"});
  const std::vector<Daemon> found = find_daemon(sleeper.pid(), "ipu-test-daemon");
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found.front().config_home, "/users/a/.config");
  EXPECT_EQ(found.front().runtime_dir, "/run/7");
}

TEST(DaemonTest, WhoOnlyCallsHimselfSoIsNotTaken) {
  const test::TempDir dir;
  const Sleeper sleeper(dir / "sleeper", "ipu-test-daemon");
  EXPECT_TRUE(find_daemons("/proc", "ipu-test-daemon").empty());
}

TEST(DaemonTest, NobodyIsFoundWhereNobodyRuns) {
  EXPECT_TRUE(find_daemons("/proc", "ipu-test-nobody").empty());
  const test::TempDir empty;
  EXPECT_TRUE(find_daemons(empty.path(), "dockerd").empty());
}

}  // namespace
}  // namespace hook::engines
