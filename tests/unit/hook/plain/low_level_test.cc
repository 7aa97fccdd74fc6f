// SPDX-License-Identifier: Apache-2.0
#include "hook/plain/low_level.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/clock.h"
#include "base/fs.h"
#include "base/process.h"
#include "base/text.h"
#include "base/version.h"
#include "hook/passing/passing.h"
#include "hook/plain/links.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace hook::plain {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

class PlainLowLevelTest : public testing::Test {
 protected:
  void SetUp() override { write_config("[runtime]\n"); }
  void write_config(const std::string& text) const {
    EXPECT_TRUE(test::succeeds(base::write_atomic(config_, text, {})));
  }
  // What a create does that chose RUNTIME among CANDIDATES, a moment after the last change.
  void choose(const std::vector<std::string>& candidates, const std::string& runtime) const {
    base::sleep_for(milliseconds(50), base::Deadline::after(milliseconds(50)));
    EXPECT_TRUE(test::succeeds(remember_runtime(run_dir_, runtime)));
    EXPECT_TRUE(
        test::succeeds(record_choice(run_dir_, config_, state_of(config_), candidates, runtime)));
  }
  [[nodiscard]] std::string settled() const { return settled_by(config_); }
  [[nodiscard]] std::string settled_by(const std::string& config) const {
    const std::string runtime = remembered_runtime(run_dir_);
    return passing::is_settled({run_dir_, config, base::product_version()}, runtime) ? runtime : "";
  }

  test::TempDir dir_;
  const std::string config_ = dir_ / "config.toml";
  const std::string run_dir_ = dir_ / "run";
};

TEST_F(PlainLowLevelTest, LeavesOnlyItsLinkBehind) {
  ASSERT_TRUE(test::succeeds(remember_runtime(run_dir_, "/opt/runc")));
  ASSERT_TRUE(test::succeeds(remember_runtime(run_dir_, "/opt/crun")));
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(run_dir_)) {
    names.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(names, ElementsAre("runtime"));
}

TEST_F(PlainLowLevelTest, WhatADeadProcessLeftIsRemovedAndNothingElse) {
  ASSERT_TRUE(test::succeeds(remove_half_made_links(run_dir_)));
  ASSERT_TRUE(test::succeeds(remember_runtime(run_dir_, "/opt/runc")));
  base::ProcessId dead = base::current_process().take();
  const auto link_of = [&](const base::ProcessId& maker) {
    return base::str(run_dir_, "/runtime.", maker.pid, ".", maker.start_time, ".",
                     maker.pid_namespace);
  };
  const std::string of_this_process = link_of(dead);
  ++dead.start_time;
  for (const std::string& path : {of_this_process, link_of(dead), run_dir_ + "/runtime.new"}) {
    ASSERT_EQ(::symlink("/opt/crun", path.c_str()), 0);
  }
  ASSERT_TRUE(test::succeeds(remove_half_made_links(run_dir_)));
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(run_dir_)) {
    names.push_back(entry.path().string());
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre(run_dir_ + "/runtime", of_this_process,
                                                   run_dir_ + "/runtime.new"));
}

TEST_F(PlainLowLevelTest, IsSettledWhileTheConfigurationIsTheSameFile) {
  EXPECT_EQ(settled(), "") << "before the first create";
  choose({"/opt/runc", "/opt/crun"}, "/opt/runc");
  EXPECT_EQ(settled(), "/opt/runc");
  ASSERT_EQ(::chmod(config_.c_str(), 0640), 0);
  EXPECT_EQ(settled(), "") << "another mode";
  choose({"/opt/runc"}, "/opt/runc");
  EXPECT_EQ(settled(), "/opt/runc");
  write_config("[runtime]\n");
  EXPECT_EQ(settled(), "") << "the same text in another file";
  choose({"/opt/runc"}, "/opt/runc");
  ASSERT_EQ(::unlink(config_.c_str()), 0);
  EXPECT_EQ(settled(), "") << "no file";
  choose({"/opt/runc"}, "/opt/runc");
  EXPECT_EQ(settled(), "/opt/runc") << "no file, as before";
  forget_choice(run_dir_);
  EXPECT_EQ(settled(), "");
}

TEST_F(PlainLowLevelTest, IsNotSettledWhenAnEarlierCandidateAppears) {
  const std::string earlier = dir_ / "crun";
  choose({earlier, "/opt/runc"}, "/opt/runc");
  EXPECT_EQ(settled(), "/opt/runc");
  ASSERT_TRUE(test::succeeds(base::write_atomic(earlier, "", {})));
  EXPECT_EQ(settled(), "");
}

TEST_F(PlainLowLevelTest, IsNotSettledByTheRecordOfAnother) {
  choose({"/opt/runc"}, "/opt/runc");
  ASSERT_TRUE(test::succeeds(replace_link(run_dir_, "runtime", "/opt/crun")));
  EXPECT_EQ(settled(), "") << "another create has chosen meanwhile";
  choose({"/opt/runc"}, "/opt/runc");
  EXPECT_EQ(settled(), "/opt/runc");
}

TEST_F(PlainLowLevelTest, IsNotSettledByAConfigurationBehindALink) {
  const std::string link = dir_ / "link.toml";
  ASSERT_EQ(::symlink(config_.c_str(), link.c_str()), 0);
  choose({"/opt/runc"}, "/opt/runc");
  EXPECT_TRUE(
      test::succeeds(record_choice(run_dir_, link, state_of(link), {"/opt/runc"}, "/opt/runc")));
  EXPECT_EQ(settled_by(link), "");
  EXPECT_EQ(settled(), "") << "what cannot be recorded is forgotten";
}

TEST_F(PlainLowLevelTest, IsNotSettledByAConfigurationThatChangedSinceItWasRead) {
  const std::string read = state_of(config_);
  choose({"/opt/runc"}, "/opt/runc");
  write_config("[runtime]\npaths = [\"/opt/crun\"]\n");
  base::sleep_for(milliseconds(50), base::Deadline::after(milliseconds(50)));
  EXPECT_TRUE(test::succeeds(record_choice(run_dir_, config_, read, {"/opt/runc"}, "/opt/runc")));
  EXPECT_EQ(settled(), "");
}

// Another change in the same tick of the kernel's clock would have the same time.
TEST_F(PlainLowLevelTest, IsNotSettledByAConfigurationThatJustChanged) {
  EXPECT_TRUE(test::succeeds(remember_runtime(run_dir_, "/opt/runc")));
  // Some attempts may take longer than a tick.
  bool is_settled = true;
  for (int attempt = 0; attempt < 20 && is_settled; ++attempt) {
    ASSERT_EQ(::chmod(config_.c_str(), 0644), 0);
    EXPECT_TRUE(test::succeeds(
        record_choice(run_dir_, config_, state_of(config_), {"/opt/runc"}, "/opt/runc")));
    is_settled = !settled().empty();
  }
  EXPECT_FALSE(is_settled);
}

TEST_F(PlainLowLevelTest, IsNotSettledByAPathThatTheRecordCannotHold) {
  choose({"/opt/a:b", "/opt/runc"}, "/opt/runc");
  EXPECT_EQ(settled(), "");
  choose({std::string(5000, '/'), "/opt/runc"}, "/opt/runc");
  EXPECT_EQ(settled(), "");
}

}  // namespace
}  // namespace hook::plain
