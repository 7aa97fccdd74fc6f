// SPDX-License-Identifier: Apache-2.0
#include "hook/engines/file_edit.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/fs.h"
#include "tests/support/outcome.h"
#include "tests/support/requires.h"
#include "tests/support/temp_dir.h"

namespace hook::engines {
namespace {

using base::Code;

class FileEditTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(std::filesystem::create_directories(dir_ / "etc"));
    ASSERT_TRUE(test::succeeds(base::write_atomic(real_, "before", {})));
  }
  static FileText read(const std::string& path) {
    return base::read_file_if_exists(path, 99).take();
  }
  void link(const std::string& to) const { ASSERT_EQ(::symlink(to.c_str(), file_.c_str()), 0); }

  const test::TempDir dir_;
  const std::string real_ = dir_ / "real";
  const std::string file_ = dir_ / "etc/file";
};

TEST_F(FileEditTest, LinksAreFollowed) {
  for (const std::string& to : {real_, std::string("../real"), std::string("./../etc/../real")}) {
    link(to);
    FileEdit edit = read_edit(file_).take();
    EXPECT_EQ(edit.path, std::filesystem::canonical(real_));
    EXPECT_EQ(edit.before, "before");
    edit.after = "after";
    ASSERT_TRUE(test::succeeds(apply_edit(edit)));
    EXPECT_TRUE(std::filesystem::is_symlink(file_));
    EXPECT_EQ(read(real_), "after");
    ASSERT_TRUE(test::succeeds(base::write_atomic(real_, "before", {})));
    ASSERT_EQ(::unlink(file_.c_str()), 0);
  }
}

TEST_F(FileEditTest, ALinkToNothingLeadsWhereTheFileWillBe) {
  link("../none/file");
  FileEdit edit = read_edit(file_).take();
  EXPECT_EQ(edit.before, std::nullopt);
  edit.after = "after";
  ASSERT_TRUE(test::succeeds(apply_edit(edit)));
  EXPECT_EQ(read(dir_ / "none/file"), "after");
}

TEST_F(FileEditTest, LinksInACircleLeadNowhere) {
  link("file");
  const base::Result<FileEdit> edit = read_edit(file_);
  ASSERT_FALSE(edit.ok());
  EXPECT_EQ(edit.error().sys_errno(), ELOOP);
}

TEST_F(FileEditTest, RootGoesNoWayThatSomebodyElseCanChange) {
  REQUIRES_ROOT();
  link(real_);
  ASSERT_EQ(::chmod((dir_ / "etc").c_str(), 0777), 0);
  EXPECT_TRUE(test::fails(read_edit(file_), Code::kDenied, "run this command as its owner"));
  ASSERT_EQ(::chmod((dir_ / "etc").c_str(), 01777), 0);  // only who made it can replace it
  EXPECT_TRUE(test::succeeds(read_edit(file_)));
  ASSERT_EQ(::lchown(file_.c_str(), 12345, 12345), 0);
  EXPECT_TRUE(test::fails(read_edit(file_), Code::kDenied));
  ASSERT_EQ(::lchown(file_.c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod((dir_ / "etc").c_str(), 0755), 0);
  ASSERT_EQ(::chown((dir_ / "etc").c_str(), 12345, 0), 0);
  EXPECT_TRUE(test::fails(read_edit(file_), Code::kDenied));
}

TEST_F(FileEditTest, AFileThatIsChangedWhileWeLookIsLeftAlone) {
  FileEdit edit = read_edit(real_).take();
  edit.after = "after";
  ASSERT_TRUE(test::succeeds(base::write_atomic(real_, "theirs", {})));
  EXPECT_TRUE(test::fails(apply_edit(edit), Code::kBusy, "try again"));
  EXPECT_EQ(read(real_), "theirs");
}

TEST_F(FileEditTest, RootChangesNoFileWhoseFolderSomebodyElseCanReplace) {
  REQUIRES_ROOT();
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0777), 0);
  EXPECT_TRUE(test::fails(read_edit(real_), Code::kDenied, "on its path"));
}

}  // namespace
}  // namespace hook::engines
