// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/low_level.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "hook/config/config.h"
#include "hook/plain/low_level.h"
#include "tests/support/outcome.h"
#include "tests/support/requires.h"
#include "tests/support/temp_dir.h"

namespace hook::lifecycle {
namespace {

using base::Code;
using plain::remember_runtime;
using testing::ElementsAre;

class LowLevelTest : public testing::Test {
 protected:
  std::string program(const std::string& name, mode_t mode = 0755) {
    EXPECT_TRUE(test::succeeds(base::write_atomic(dir_ / name, "#!/bin/sh\n", {mode, {}, {}})));
    return dir_ / name;
  }
  void write_config(const std::string& text) const {
    EXPECT_TRUE(test::succeeds(base::write_atomic(config_, text, {})));
  }
  [[nodiscard]] std::vector<std::string> remembered() const {
    return remembered_runtimes(run_dir_, config_);
  }
  test::TempDir dir_;
  const std::string config_ = dir_ / "config.toml";
  const std::string run_dir_ = dir_ / "run";
};

TEST_F(LowLevelTest, IsTheFirstOneThatExists) {
  REQUIRES_ROOT();
  const std::string first = program("first");
  const std::string second = program("second");
  EXPECT_EQ(choose_runtime({dir_ / "absent", first, second}).value(), first);
}

TEST_F(LowLevelTest, IsNotFoundByTheNamesThatWereTried) {
  EXPECT_TRUE(
      test::fails(choose_runtime({"/no/runc", "/no/crun"}), Code::kNotFound, "/no/runc, /no/crun"));
  EXPECT_FALSE(choose_runtime({}).ok());
}

TEST_F(LowLevelTest, MustNotBeWritableByOthers) {
  for (const mode_t mode : {0775U, 0757U, 0777U}) {
    EXPECT_TRUE(test::fails(choose_runtime({program("p", mode)}), Code::kDenied,
                            "must be a regular file that root owns and nobody else can write"));
  }
}

TEST_F(LowLevelTest, MustBeAFileOfRoot) {
  REQUIRES_ROOT();
  EXPECT_FALSE(choose_runtime({dir_.path()}).ok());
  const std::string path = program("p");
  ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
  EXPECT_TRUE(test::fails(choose_runtime({path}), Code::kDenied, "'" + path + "'"));
}

// As in rootless docker, where the files of the host's root belong to nobody.
TEST_F(LowLevelTest, MayBeOfTheHostsRootInAUserNamespace) {
  REQUIRES_ROOT();
  const std::string path = program("p");
  const pid_t child = ::fork();
  if (child == 0) {
    struct stat file {};
    const bool is_nobodys =
        ::unshare(CLONE_NEWUSER) == 0 && ::stat(path.c_str(), &file) == 0 && file.st_uid != 0;
    ::_exit(is_nobodys && choose_runtime({path}).ok() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(LowLevelTest, MustNotBeThisProgram) {
  EXPECT_TRUE(
      test::fails(choose_runtime({"/proc/self/exe"}), Code::kDenied, "is this program itself"));
}

TEST_F(LowLevelTest, IsRememberedForCommandsWithoutAConfiguration) {
  ASSERT_TRUE(test::succeeds(remember_runtime(run_dir_, "/opt/runc")));
  EXPECT_EQ(remembered().front(), "/opt/runc");
  EXPECT_EQ(remembered().size(), config::default_runtimes().size() + 1);
  ASSERT_TRUE(test::succeeds(remember_runtime(run_dir_, "/opt/crun")));
  ASSERT_TRUE(test::succeeds(remember_runtime(run_dir_, "/opt/crun")));
  EXPECT_EQ(remembered().front(), "/opt/crun");
  EXPECT_EQ(remembered().size(), config::default_runtimes().size() + 1);
}

TEST_F(LowLevelTest, IsRememberedAlsoIfItIsADefaultOne) {
  const std::string runtime = config::default_runtimes().back();
  ASSERT_TRUE(test::succeeds(remember_runtime(run_dir_, runtime)));
  EXPECT_EQ(remembered().front(), runtime);
  EXPECT_EQ(remembered().size(), config::default_runtimes().size());
}

TEST_F(LowLevelTest, IsTheConfiguredOneBeforeTheFirstCreate) {
  EXPECT_EQ(remembered(), config::default_runtimes());
  write_config("nonsense = 3\n[runtime]\npaths = [\"/usr/bin/crun\", \"/opt/crun\"]\n");
  EXPECT_THAT(remembered(),
              ElementsAre("/usr/bin/crun", "/opt/crun", "/usr/bin/runc", "/usr/sbin/runc"));
  write_config("no configuration [");
  EXPECT_EQ(remembered(), config::default_runtimes());
  ASSERT_TRUE(test::succeeds(remember_runtime(run_dir_, "/opt/runc")));
  write_config("[runtime]\npaths = [\"/opt/crun\"]\n");
  EXPECT_EQ(remembered().front(), "/opt/runc");
}

TEST_F(LowLevelTest, IsNotARelativeLink) {
  ASSERT_TRUE(base::ensure_dir(run_dir_, 0711).ok());
  ASSERT_EQ(::symlink("runc", (run_dir_ + "/runtime").c_str()), 0);
  EXPECT_EQ(remembered(), config::default_runtimes());
}

TEST(StateDir, IsBelowTheRootThatTheRuntimeIsCalledWithOrItsOwn) {
  EXPECT_EQ(state_dir_of("/usr/sbin/runc", "/run/docker/runtime-runc/moby", "web"),
            "/run/docker/runtime-runc/moby/web");
  EXPECT_EQ(state_dir_of("/usr/sbin/runc", "", "web"), "/run/runc/web");
  EXPECT_EQ(state_dir_of("/usr/bin/crun", "", "web"), "/run/crun/web");
}

TEST(StateDir, IsNotToldWhereItWouldBeAnother) {
  for (const char* container : {"", ".", "..", "../web", "a/b"}) {
    EXPECT_EQ(state_dir_of("/usr/sbin/runc", "", container), "") << container;
  }
  EXPECT_EQ(state_dir_of("/usr/sbin/runc", "relative", "web"), "");
}

}  // namespace
}  // namespace hook::lifecycle
