// SPDX-License-Identifier: Apache-2.0
#include "base/crash_record.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "base/fs.h"
#include "base/signal_record.h"
#include "base/text.h"
#include "base/version.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

extern "C" const char __executable_start;

namespace base {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

// Its first instructions crash.
[[gnu::noinline]] void write_to_null() {
  volatile int* const nowhere = nullptr;
  *nowhere = 1;
}

// Uses up the stack.
[[gnu::noinline]] int recurse(volatile char* before) {
  volatile char frame[4096];
  frame[0] = *before;
  if (frame[0] == 'x') return 0;  // never
  return recurse(frame) + frame[1];
}

class CrashRecordTest : public testing::Test {
 protected:
  // Returns how a child that runs CRASH ended. Its standard error goes to a file.
  template <typename Crash>
  int ending_of(const Crash& crash, bool on_stderr_only = false) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      if (!record_crashes("program", file_).ok()) ::_exit(1);
      if (on_stderr_only) record_crashes_on_stderr_only();
      (void)!::freopen((dir_ / "stderr").c_str(), "w", stderr);
      crash();
      ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  }
  std::string record() { return read_file(file_, kMaxRecords).take(); }

  const test::TempDir dir_;
  const std::string file_ = dir_ / "crashes";
};

TEST_F(CrashRecordTest, SaysWhichProgramCrashedAndWhere) {
  EXPECT_EQ(ending_of(write_to_null), SIGSEGV);
  const std::string line = record();
  EXPECT_THAT(line,
              AllOf(HasSubstr(str(" program ", product_version(), ", pid ")),
                    HasSubstr(": crashed by signal 11 at offset 0x"), EndsWith(", address 0x0\n")));
  const std::string_view after = std::string_view(line).substr(line.find("0x") + 2);
  const uint64_t offset = std::strtoull(std::string(after).c_str(), nullptr, 16);
  const auto function =
      reinterpret_cast<uint64_t>(&write_to_null) - reinterpret_cast<uint64_t>(&__executable_start);
  EXPECT_GE(offset, function);
  EXPECT_LT(offset, function + 64);
  EXPECT_EQ(read_file(dir_ / "stderr", kMaxRecords).take(),
            str("ipu: ", line.substr(line.find(' ') + 1)));
}

TEST_F(CrashRecordTest, IsWrittenForEachWayToCrash) {
  EXPECT_EQ(ending_of([] { std::abort(); }), 128 + SIGABRT);
  EXPECT_THAT(record(), HasSubstr("crashed by signal 6"));
  EXPECT_EQ(ending_of([] {
              volatile char first = 0;
              (void)recurse(&first);
            }),
            SIGSEGV);
  EXPECT_THAT(record(), HasSubstr("crashed by signal 11"));
}

TEST_F(CrashRecordTest, GoesToStandardErrorAloneInAnotherMountNamespace) {
  EXPECT_EQ(ending_of(write_to_null, true), SIGSEGV);
  EXPECT_NE(::access(file_.c_str(), F_OK), 0);
  EXPECT_THAT(read_file(dir_ / "stderr", kMaxRecords).take(), HasSubstr("ipu: program"));
}

TEST_F(CrashRecordTest, GrowsNoFileBeyondItsLimit) {
  ASSERT_TRUE(test::succeeds(write_atomic(file_, std::string(kMaxRecords, 'x'), {})));
  EXPECT_EQ(ending_of(write_to_null), SIGSEGV);
  EXPECT_EQ(record().size(), kMaxRecords);
}

}  // namespace
}  // namespace base
