// SPDX-License-Identifier: Apache-2.0
#include "vipu/local/partition_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "tests/support/outcome.h"
#include "tests/support/requires.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/vipu/local/soon.h"

namespace vipu::local {
namespace {

using namespace base::names;
using Records = std::vector<Record>;

class StoreTest : public testing::Test {
 protected:
  Status add(const Record& record) {
    const auto edit = [&](Records& records) -> Status {
      records.push_back(record);
      return {};
    };
    return store_.change(edit, soon());
  }
  void write(const std::string& text) {
    ASSERT_TRUE(test::succeeds(base::write_atomic(path_, text, {0600, {}, {}})));
  }
  struct stat stat_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return status;
  }

  test::TempDir dir_;
  std::string path_ = dir_ / "pool.json";
  PartitionStore store_{path_};
};

TEST_F(StoreTest, AnAbsentFileHasNoPartitions) {
  EXPECT_EQ(store_.read().take(), Records());
  EXPECT_TRUE(dir_.entries().empty());
}

TEST_F(StoreTest, WhatOneChangesAnotherReads) {
  ASSERT_TRUE(test::succeeds(add({"p0", {"10.5.1.1:0", "10.5.1.1:1"}})));
  ASSERT_TRUE(test::succeeds(add({"p1", {"0000:35:00.0"}})));
  EXPECT_EQ(PartitionStore(path_).read().take(),
            (Records{{"p0", {"10.5.1.1:0", "10.5.1.1:1"}}, {"p1", {"0000:35:00.0"}}}));
}

TEST_F(StoreTest, TheFileAndItsNewDirectoryAreForTheOwnerAlone) {
  const PartitionStore store(dir_ / "a/pools/pool.json");
  ASSERT_TRUE(test::succeeds(store.change(
      [](Records& records) -> Status {
        records.push_back({"p0", {"x"}});
        return {};
      },
      soon())));
  EXPECT_EQ(stat_of(dir_ / "a/pools").st_mode & 07777U, 0700U);
  EXPECT_EQ(stat_of(dir_ / "a/pools/pool.json").st_mode & 07777U, 0600U);
  EXPECT_EQ(stat_of(dir_ / "a/pools/pool.json.lock").st_mode & 07777U, 0600U);
}

TEST_F(StoreTest, ADirectoryThatIsThereKeepsItsMode) {
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0755), 0);
  ASSERT_TRUE(test::succeeds(add({"p0", {"x"}})));
  EXPECT_EQ(stat_of(dir_.path()).st_mode & 07777U, 0755U);
}

TEST_F(StoreTest, AnEditThatFailsChangesNothing) {
  ASSERT_TRUE(test::succeeds(add({"p0", {"x"}})));
  const auto edit = [](Records& records) -> Status {
    records.clear();
    return base::Error(Code::kBusy, "no room");
  };
  EXPECT_TRUE(test::fails(store_.change(edit, soon()), Code::kBusy, "no room"));
  EXPECT_EQ(store_.read().take(), (Records{{"p0", {"x"}}}));
}

TEST_F(StoreTest, AnEditWithoutEffectWritesNothing) {
  ASSERT_TRUE(test::succeeds(add({"p0", {"x"}})));
  const ino_t before = stat_of(path_).st_ino;
  ASSERT_TRUE(test::succeeds(store_.change([](Records&) { return Status(); }, soon())));
  EXPECT_EQ(stat_of(path_).st_ino, before);
}

TEST_F(StoreTest, NothingIsWrittenTwice) {
  ASSERT_TRUE(test::succeeds(add({"p0", {"x", "y"}})));
  EXPECT_TRUE(test::fails(add({"p1", {"y"}}), Code::kInvalid, "IPU 'y' is in it twice"));
  EXPECT_TRUE(test::fails(add({"p1", {"z", "z"}}), Code::kInvalid, "IPU 'z' is in it twice"));
  EXPECT_TRUE(test::fails(add({"p0", {"z"}}), Code::kInvalid, "'p0' is in it twice"));
  EXPECT_TRUE(test::fails(add({"p1", {""}}), Code::kInvalid));
  EXPECT_TRUE(test::fails(add({"p1", {}}), Code::kInvalid, "has no IPU"));
  EXPECT_TRUE(test::fails(add({"p/1", {"z"}}), Code::kInvalid, "no partition name"));
  EXPECT_EQ(store_.read().take(), (Records{{"p0", {"x", "y"}}}));
}

TEST_F(StoreTest, ADamagedFileIsRefusedWithWhatToDoAndKept) {
  const std::string texts[] = {
      "",
      "{",
      "[]",
      R"({"partitions":[]})",
      R"({"version":"1","partitions":[]})",
      R"({"version":1})",
      R"({"version":1,"partitions":{}})",
      R"({"version":1,"partitions":[1]})",
      R"({"version":1,"partitions":[{"id":"p0"}]})",
      R"({"version":1,"partitions":[{"id":"p0","ipus":[]}]})",
      R"({"version":1,"partitions":[{"id":"p0","ipus":[1]}]})",
      R"({"version":1,"partitions":[{"id":"../p","ipus":["x"]}]})",
      R"({"version":1,"partitions":[{"id":"p0","ipus":["x"]},{"id":"p1","ipus":["x"]}]})",
      R"({"version":1,"partitions":[{"id":"p0","ipus":["x"]},{"id":"p0","ipus":["y"]}]})"};
  for (const std::string& text : texts) {
    write(text);
    EXPECT_TRUE(test::fails(store_.read(), Code::kInvalid, "restore it, or remove it")) << text;
    EXPECT_TRUE(test::fails(add({"p9", {"z"}}), Code::kInvalid, path_)) << text;
    EXPECT_EQ(base::read_file(path_, 4096).take(), text);
  }
}

TEST_F(StoreTest, AnotherVersionIsRefusedByName) {
  write(R"({"version":2,"partitions":[]})");
  EXPECT_TRUE(test::fails(store_.read(), Code::kInvalid, "has version 2"));
}

TEST_F(StoreTest, WaitsForTheLockNoLongerThanItMay) {
  const base::Fd held = base::open_at(AT_FDCWD, path_ + ".lock", O_RDWR | O_CREAT, 0600).take();
  ASSERT_EQ(::flock(held.get(), LOCK_EX), 0);
  const Deadline patience = soon();
  const Status status = store_.change([](Records&) { return Status(); },
                                      Deadline::after(std::chrono::milliseconds(20)));
  EXPECT_TRUE(test::fails(status, Code::kTimeout, path_ + ".lock"));
  EXPECT_FALSE(patience.passed());
  EXPECT_TRUE(test::succeeds(store_.read()));
}

TEST_F(StoreTest, ALinkInPlaceOfTheLockIsRefused) {
  ASSERT_EQ(::symlink("/dev/null", (path_ + ".lock").c_str()), 0);
  EXPECT_FALSE(add({"p0", {"x"}}).ok());
}

// What a killed change leaves, for each of its system calls.
class KilledStoreTest : public StoreTest {
 protected:
  enum class End { kKilled, kDone };

  // Adds RECORD in a process that is killed at its stop number STOPS, of which each system call has
  // two; END says whether it had ended before that.
  void add_and_kill(const Record& record, int stops, End& end) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(2);
      (void)::raise(SIGSTOP);
      ::_exit(add(record).ok() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (!WIFSTOPPED(status)) {
      if (test::tests_must_run()) FAIL() << "cannot trace";
      GTEST_SKIP() << "cannot trace";
    }
    for (int i = 0; i < stops && WIFSTOPPED(status); ++i) {
      ASSERT_EQ(::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr), 0);
      ASSERT_EQ(::waitpid(child, &status, 0), child);
    }
    end = WIFSTOPPED(status) ? End::kKilled : End::kDone;
    if (end == End::kDone) {
      EXPECT_EQ(status, 0);
      return;
    }
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    ASSERT_EQ(::waitpid(child, &status, 0), child);
  }
};

TEST_F(KilledStoreTest, KilledAtAnySystemCallItLeavesTheOldOrTheNewAndNoLock) {
  const Records old{{"p0", {"x"}}};
  const Records changed{{"p0", {"x"}}, {"p1", {"y"}}};
  ASSERT_TRUE(test::succeeds(add(old[0])));
  End end = End::kKilled;
  int stops = 0;
  int olds = 0;
  for (; stops < 1000 && end == End::kKilled; ++stops) {
    ASSERT_NO_FATAL_FAILURE(add_and_kill(changed[1], stops, end));
    if (IsSkipped()) return;
    const base::Result<Records> read = store_.read();
    ASSERT_TRUE(test::succeeds(read)) << "killed at stop " << stops;
    ASSERT_TRUE(read.value() == old || read.value() == changed) << "killed at stop " << stops;
    olds += read.value() == old ? 1 : 0;
    const auto restore = [&](Records& records) -> Status {
      records = old;
      records.push_back({base::str("q", stops), {"z"}});
      return {};
    };
    ASSERT_TRUE(test::succeeds(store_.change(restore, soon()))) << "killed at stop " << stops;
    ASSERT_EQ(dir_.entries(), (std::vector<std::string>{"pool.json", "pool.json.lock"}));
    ASSERT_TRUE(test::succeeds(store_.change(
        [&](Records& records) -> Status {
          records = old;
          return {};
        },
        soon())));
  }
  EXPECT_EQ(end, End::kDone);
  EXPECT_GT(olds, 10);
  EXPECT_LT(olds, stops);
}

}  // namespace
}  // namespace vipu::local
