// SPDX-License-Identifier: Apache-2.0
#include "base/fs.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

#include "base/scope.h"
#include "base/text.h"
#include "tests/support/outcome.h"
#include "tests/support/requires.h"
#include "tests/support/temp_dir.h"

namespace {
int syncs = 0;
}

// Takes the place of the C library's.
extern "C" int fsync(int fd) {
  ++syncs;
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace base {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

std::string content_of(const std::string& path) { return read_file(path, 1 << 24).take(); }

class FilesTest : public testing::Test {
 protected:
  void write(const std::string& name, std::string_view data) {
    ASSERT_TRUE(test::succeeds(write_atomic(dir_ / name, data, {})));
  }
  test::TempDir dir_;
};

using ReadFileTest = FilesTest;
using WriteAtomicTest = FilesTest;
using EnsureDirTest = FilesTest;
using RemoveTest = FilesTest;

TEST_F(ReadFileTest, GivesAllBytes) {
  std::string data(200'000, 'x');
  data[100'000] = '\0';
  write("f", data);
  EXPECT_EQ(content_of(dir_ / "f"), data);
}

TEST_F(ReadFileTest, TakesExactlyTheLimitAndNotOneByteMore) {
  write("f", "12345");
  EXPECT_TRUE(test::succeeds(read_file(dir_ / "f", 5)));
  EXPECT_TRUE(test::fails(read_file(dir_ / "f", 4), Code::kInvalid, "longer than 4 bytes"));
}

TEST_F(ReadFileTest, StopsReadingAnEndlessFileAtTheLimit) {
  EXPECT_TRUE(test::fails(read_file("/dev/zero", 1000), Code::kInvalid, "'/dev/zero'"));
}

TEST_F(ReadFileTest, NamesAFileThatIsAbsent) {
  EXPECT_TRUE(test::fails(read_file(dir_ / "no", 10), Code::kNotFound, dir_ / "no"));
}

TEST_F(ReadFileTest, APlainFileIsRegularAndWaitsForNoWriter) {
  write("f", "12345");
  EXPECT_EQ(read_plain_file(dir_ / "f", 5).value(), "12345");
  EXPECT_TRUE(test::fails(read_plain_file(dir_ / "f", 4), Code::kInvalid, "longer than 4 bytes"));
  ASSERT_EQ(::mkfifo((dir_ / "fifo").c_str(), 0600), 0);
  EXPECT_TRUE(test::fails(read_plain_file(dir_ / "fifo", 5), Code::kInvalid, "not a regular file"));
  EXPECT_TRUE(test::fails(read_plain_file(dir_.path(), 5), Code::kInvalid, "not a regular file"));
  EXPECT_TRUE(test::fails(read_plain_file(dir_ / "no", 5), Code::kNotFound, dir_ / "no"));
}

TEST_F(ReadFileTest, FailsOnADirectory) { EXPECT_FALSE(read_file(dir_.path(), 10).ok()); }

TEST_F(ReadFileTest, GivesNothingForAnAbsentFileThatMayBeAbsent) {
  const Result<std::optional<std::string>> absent = read_file_if_exists(dir_ / "no", 10);
  ASSERT_TRUE(test::succeeds(absent));
  EXPECT_EQ(absent.value(), std::nullopt);
  write("f", "");
  EXPECT_EQ(read_file_if_exists(dir_ / "f", 10).value(), "");
}

TEST_F(ReadFileTest, FailsWhenAPartOfThePathIsNoDirectory) {
  write("f", "x");
  EXPECT_FALSE(read_file_if_exists(dir_ / "f/g", 10).ok());
}

TEST(OpenAt, ClosesTheDescriptorOnExec) {
  const Result<Fd> fd = open_at(AT_FDCWD, "/dev/null", O_RDONLY);
  ASSERT_TRUE(test::succeeds(fd));
  EXPECT_NE(::fcntl(fd.value().get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(WriteAtomicTest, SyncsTheFileAndItsDirectoryUnlessTheyAreInMemory) {
  const test::TempDir in_memory(std::filesystem::path("/dev/shm"));
  for (const std::string& path : {dir_ / "f", in_memory / "f"}) {
    syncs = 0;
    ASSERT_TRUE(test::succeeds(write_atomic(path, "data", {})));
    struct statfs status {};
    ASSERT_EQ(::statfs(path.c_str(), &status), 0);
    EXPECT_EQ(syncs, status.f_type == TMPFS_MAGIC ? 0 : 2) << path;
    EXPECT_EQ(content_of(path), "data");
  }
}

TEST_F(WriteAtomicTest, MakesAFileOfThisModeWhateverTheUmask) {
  const mode_t mask = ::umask(0077);
  EXPECT_TRUE(test::succeeds(write_atomic(dir_ / "f", "data", {0644, {}, {}})));
  EXPECT_TRUE(test::succeeds(write_atomic(dir_ / "g", "data", {0400, {}, {}})));
  ::umask(mask);
  EXPECT_EQ(content_of(dir_ / "f"), "data");
  EXPECT_EQ(mode_of(dir_ / "f"), 0644U);
  EXPECT_EQ(mode_of(dir_ / "g"), 0400U);
}

TEST_F(WriteAtomicTest, ReplacesTheFileAndLeavesNothingElse) {
  write("f", std::string(100'000, 'a'));
  write("f", "short");
  EXPECT_EQ(content_of(dir_ / "f"), "short");
  EXPECT_THAT(dir_.entries(), ElementsAre("f"));
}

TEST_F(WriteAtomicTest, LeavesAReaderOfTheOldFileAlone) {
  write("f", "old");
  const Fd reader = open_at(AT_FDCWD, dir_ / "f", O_RDONLY).take();
  write("f", "new");
  EXPECT_EQ(read_all(reader.get(), 10, "f").value(), "old");
}

TEST_F(WriteAtomicTest, ReplacesALinkAndNotItsTarget) {
  write("target", "kept");
  ASSERT_EQ(::symlink("target", (dir_ / "f").c_str()), 0);
  write("f", "new");
  EXPECT_EQ(content_of(dir_ / "target"), "kept");
  EXPECT_EQ(content_of(dir_ / "f"), "new");
}

TEST_F(WriteAtomicTest, WritesBelowADescriptorOfTheDirectory) {
  const Fd directory = open_at(AT_FDCWD, dir_.path(), O_RDONLY | O_DIRECTORY).take();
  EXPECT_TRUE(test::succeeds(write_atomic(directory.get(), "f", "data", {})));
  EXPECT_EQ(content_of(dir_ / "f"), "data");
}

TEST_F(WriteAtomicTest, TakesAPlainNameAsOneInTheWorkingDirectory) {
  const Fd here = open_at(AT_FDCWD, ".", O_RDONLY | O_DIRECTORY).take();
  ASSERT_EQ(::chdir(dir_.path().c_str()), 0);
  const ScopeExit back([&] { (void)!::fchdir(here.get()); });
  EXPECT_TRUE(test::succeeds(write_atomic("f", "data", {})));
  EXPECT_THAT(dir_.entries(), ElementsAre("f"));
}

TEST_F(WriteAtomicTest, LeavesNothingWhenTheNameIsADirectory) {
  ASSERT_EQ(::mkdir((dir_ / "f").c_str(), 0755), 0);
  EXPECT_TRUE(test::fails(write_atomic(dir_ / "f", "data", {}), Code::kInternal, dir_ / "f"));
  EXPECT_THAT(dir_.entries(), ElementsAre("f"));
}

TEST_F(WriteAtomicTest, FailsWhereTheDirectoryIsAbsent) {
  EXPECT_TRUE(test::fails(write_atomic(dir_ / "no/f", "data", {}), Code::kNotFound));
}

// The limit on the size of a file stands in for a full disk.
TEST_F(WriteAtomicTest, KeepsTheOldFileWhenThereIsNoRoomForTheNew) {
  write("f", "old");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  (void)::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{1000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const Status written = write_atomic(dir_ / "f", std::string(5000, 'x'), {});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  (void)::signal(SIGXFSZ, SIG_DFL);
  EXPECT_FALSE(written.ok());
  EXPECT_EQ(content_of(dir_ / "f"), "old");
  EXPECT_THAT(dir_.entries(), ElementsAre("f"));
}

TEST_F(EnsureDirTest, MakesADirectoryOfExactlyThisMode) {
  const mode_t mask = ::umask(0077);
  EXPECT_TRUE(test::succeeds(ensure_dir(dir_ / "d", 0711)));
  ::umask(mask);
  EXPECT_EQ(mode_of(dir_ / "d"), 0711U);
}

TEST_F(EnsureDirTest, MakesItsParents) {
  const mode_t mask = ::umask(0022);
  EXPECT_TRUE(test::succeeds(ensure_dir(dir_ / "a/b/c", 0700)));
  ::umask(mask);
  EXPECT_EQ(mode_of(dir_ / "a"), 0755U);
  EXPECT_EQ(mode_of(dir_ / "a/b"), 0755U);
  EXPECT_EQ(mode_of(dir_ / "a/b/c"), 0700U);
}

TEST_F(EnsureDirTest, SetsTheModeOfADirectoryThatIsThere) {
  ASSERT_EQ(::mkdir((dir_ / "d").c_str(), 0777), 0);
  EXPECT_TRUE(test::succeeds(ensure_dir(dir_ / "d", 0700)));
  EXPECT_EQ(mode_of(dir_ / "d"), 0700U);
  EXPECT_TRUE(test::succeeds(ensure_dir(dir_ / "d/", 0711)));
  EXPECT_EQ(mode_of(dir_ / "d"), 0711U);
}

TEST_F(EnsureDirTest, DoesNotFollowALinkInPlaceOfTheDirectory) {
  ASSERT_EQ(::mkdir((dir_ / "victim").c_str(), 0755), 0);
  ASSERT_EQ(::symlink("victim", (dir_ / "d").c_str()), 0);
  EXPECT_FALSE(ensure_dir(dir_ / "d", 0700).ok());
  EXPECT_EQ(mode_of(dir_ / "victim"), 0755U);
}

TEST_F(EnsureDirTest, FailsWhereAFileIsInTheWay) {
  write("f", "x");
  EXPECT_FALSE(ensure_dir(dir_ / "f", 0700).ok());
  EXPECT_FALSE(ensure_dir(dir_ / "f/g", 0700).ok());
}

class TrustedFileTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(write_atomic(file_, "text", {.mode = 0644}).ok());
    ASSERT_EQ(::mkdir((dir_ / "sub").c_str(), 0755), 0);
  }
  [[nodiscard]] auto read(const std::string& path) const { return read_trusted_file(path, 100); }

  const test::TempDir dir_;
  const std::string file_ = dir_ / "file";
};

TEST_F(TrustedFileTest, IsReadIfOnlyItsOwnerCanChangeIt) {
  EXPECT_EQ(read(file_).take(), "text");
  EXPECT_EQ(read(dir_ / "absent").take(), std::nullopt);
  EXPECT_EQ(read(dir_ / "no/such/directory").take(), std::nullopt);
  EXPECT_TRUE(test::fails(read_trusted_file(file_, 3), Code::kInvalid, "longer than 3 bytes"));
}

TEST_F(TrustedFileTest, IsRefusedIfAGroupOrEverybodyCanChangeIt) {
  for (const mode_t mode : {0664U, 0646U, 0666U}) {
    ASSERT_EQ(::chmod(file_.c_str(), mode), 0);
    EXPECT_TRUE(test::fails(read(file_), Code::kDenied, "can be changed by others than root"));
    EXPECT_TRUE(test::fails(read(file_), Code::kDenied, str("&& chmod go-w ", file_, "'")));
  }
}

TEST_F(TrustedFileTest, IsRefusedIfOthersCanReplaceIt) {
  ASSERT_EQ(::chmod(dir_.path().c_str(), 01777), 0);
  EXPECT_TRUE(test::fails(read(file_), Code::kDenied, str("chmod go-w ", dir_.path(), "'")));
}

TEST_F(TrustedFileTest, IsRefusedIfItBelongsToSomebodyElse) {
  REQUIRES_ROOT();
  ASSERT_EQ(::chown(file_.c_str(), 1000, 0), 0);
  EXPECT_TRUE(test::fails(read(file_), Code::kDenied, "(owner 1000, mode 0644)"));
}

TEST_F(TrustedFileTest, IsRefusedIfItIsALinkToAFileThatOthersCanChange) {
  const std::string link = dir_ / "link";
  const std::string target = dir_ / "sub/target";
  ASSERT_TRUE(write_atomic(target, "other", {}).ok());
  ASSERT_EQ(::symlink("sub/target", link.c_str()), 0);
  EXPECT_EQ(read(link).take(), "other");
  ASSERT_EQ(::chmod((dir_ / "sub").c_str(), 0777), 0);
  EXPECT_TRUE(test::fails(read(link), Code::kDenied, str("chmod go-w ", dir_ / "sub")));
}

TEST_F(RemoveTest, TellsWhetherThereWasAFile) {
  write("f", "x");
  EXPECT_EQ(remove_file(dir_ / "f").value(), Removed::kNow);
  EXPECT_EQ(remove_file(dir_ / "f").value(), Removed::kWasAbsent);
  EXPECT_FALSE(remove_file(dir_.path()).ok());
}

TEST_F(RemoveTest, TakesADirectoryWithItsFiles) {
  ASSERT_TRUE(ensure_dir(dir_ / "d", 0700).ok());
  write("d/a", "x");
  write("d/b", "y");
  EXPECT_EQ(remove_flat_dir(dir_ / "d").value(), Removed::kNow);
  EXPECT_THAT(dir_.entries(), IsEmpty());
  EXPECT_EQ(remove_flat_dir(dir_ / "d").value(), Removed::kWasAbsent);
}

TEST_F(RemoveTest, RemovesALinkInADirectoryAndNotItsTarget) {
  write("kept", "x");
  ASSERT_TRUE(ensure_dir(dir_ / "d", 0700).ok());
  ASSERT_EQ(::symlink("../kept", (dir_ / "d/link").c_str()), 0);
  EXPECT_EQ(remove_flat_dir(dir_ / "d").value(), Removed::kNow);
  EXPECT_EQ(content_of(dir_ / "kept"), "x");
}

TEST_F(RemoveTest, DoesNotGoDeeperThanOneDirectory) {
  ASSERT_TRUE(ensure_dir(dir_ / "d/deeper", 0700).ok());
  write("d/deeper/f", "x");
  EXPECT_FALSE(remove_flat_dir(dir_ / "d").ok());
  EXPECT_EQ(content_of(dir_ / "d/deeper/f"), "x");
}

TEST_F(RemoveTest, FailsOnAFileInPlaceOfTheDirectory) {
  write("f", "x");
  EXPECT_FALSE(remove_flat_dir(dir_ / "f").ok());
  EXPECT_EQ(content_of(dir_ / "f"), "x");
}

}  // namespace
}  // namespace base
