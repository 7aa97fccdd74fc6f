// SPDX-License-Identifier: Apache-2.0
// A ledger on a disk that is full to its last byte: a small file system in memory.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/check.h"
#include "hook/ledger/internal/reserve.h"
#include "tests/support/requires.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using namespace base::names;

constexpr int kLeases = 500;

// The mount is private to a child process, which the test is in, and goes with it.
class FullDisk : public testing::Test {
 protected:
  void SetUp() override { REQUIRES_ROOT(); }

  void on_small_disk(const std::function<void()>& work) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const bool mounted =
          ::unshare(CLONE_NEWNS) == 0 &&
          ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
          ::mount("tmpfs", dir_.path().c_str(), "tmpfs", 0, "size=16m,mode=0700") == 0;
      if (!mounted) ::_exit(2);
      work();
      ::_exit(HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  [[nodiscard]] uint64_t free_bytes() const {
    struct statfs disk {};
    EXPECT_EQ(::statfs(dir_.path().c_str(), &disk), 0);
    return disk.f_bavail * static_cast<uint64_t>(disk.f_bsize);
  }
  // Nothing is free afterwards.
  void fill() {
    const base::Fd file =
        base::open_at(AT_FDCWD, dir_ / "filler", O_WRONLY | O_CREAT | O_APPEND, 0600).take();
    const std::string page(4096, 'x');
    while (::write(file.get(), page.data(), page.size()) > 0) continue;
    EXPECT_EQ(free_bytes(), 0U);
  }
  static bool has_reserve(const std::string& path) {
    struct stat status {};
    return ::stat(ledger::reserve_file(path).c_str(), &status) == 0 && status.st_blocks > 0;
  }
  ledger::Intent intent(int number) const {
    return {str("job", number),
            "/b",
            "",
            {"pod64", config::Provider::kVipu, "10.1.3.101:8090"},
            {rail("ens1f0", "10.5.0.0/16", "10.5.200.0", "10.5.209.255")},
            1,
            {1, 1}};
  }
  ledger::Lease run(ledger::Ledger& ledger, int number) {
    const ledger::Intent what = intent(number);
    ledger::Lease lease = ledger.acquire(what).take();
    const std::string machine = str("10.5.", 1 + number / 100, ".", 1 + number % 100);
    EXPECT_TRUE(test::succeeds(
        ledger.mark_allocated(lease, {ipu(machine.c_str(), 0)}, {}, {{what.rails[0], "roce0"}})));
    EXPECT_TRUE(test::succeeds(ledger.begin_attach(lease, {2, 2}, {{1, 2, 3}, 4, 5})));
    EXPECT_TRUE(test::succeeds(ledger.mark_running(lease, {3, 3})));
    return lease;
  }
  test::TempDir dir_;
};

TEST_F(FullDisk, RefusesNewLeasesAndRecordsEachRelease) {
  on_small_disk([this] {
    const std::string path = dir_ / "state/ledger.db";
    ledger::Ledger ledger = ledger::Ledger::open(path).take();
    std::vector<ledger::Lease> leases;
    for (int number = 0; number < kLeases; ++number) leases.push_back(run(ledger, number));
    fill();
    // The first that does not fit gives the reserve up; then new ones are refused at once.
    for (ledger::Lease& lease : leases) {
      ASSERT_TRUE(test::succeeds(ledger.begin_release(lease, {4, 4}, "")));
      ASSERT_TRUE(test::succeeds(ledger.note_obstacle(lease, "the controller is down")));
      ASSERT_TRUE(test::succeeds(ledger.finish_release(lease)));
    }
    EXPECT_TRUE(ledger.live().take().empty());
    EXPECT_TRUE(ledger::check_ledger(path).take().empty());
    EXPECT_FALSE(has_reserve(path)) << "this test needs more leases";
    EXPECT_TRUE(test::fails(ledger.acquire(intent(kLeases)), Code::kBusy, "is full"));
  });
}

// SQLite needs space for what the processes share, also of a ledger that is only opened.
TEST_F(FullDisk, IsOpenedAndReleasesWhereNothingIsLeft) {
  on_small_disk([this] {
    const std::string path = dir_ / "state/ledger.db";
    ledger::Lease lease;
    {
      ledger::Ledger ledger = ledger::Ledger::open(path).take();
      lease = run(ledger, 1);
    }
    ASSERT_TRUE(test::succeeds(base::remove_file(path + "-shm")));
    fill();
    base::Result<ledger::Ledger> ledger = ledger::Ledger::open(path);
    ASSERT_TRUE(test::succeeds(ledger));
    EXPECT_FALSE(has_reserve(path));
    ledger::Ledger other = ledger::Ledger::open(path).take();
    EXPECT_FALSE(has_reserve(path)) << "who only opens it takes no space back";
    ASSERT_TRUE(test::succeeds(ledger.value().begin_release(lease, {4, 4}, "")));
    ASSERT_TRUE(test::succeeds(ledger.value().finish_release(lease)));
    EXPECT_TRUE(test::fails(other.acquire(intent(2)), Code::kBusy, "is full"));
  });
}

TEST_F(FullDisk, KeepsWhatRunsAndTellsWhoStarts) {
  on_small_disk([this] {
    const std::string path = dir_ / "state/ledger.db";
    ledger::Ledger ledger = ledger::Ledger::open(path).take();
    const ledger::Lease running = run(ledger, 1);
    ASSERT_EQ(::truncate(ledger::reserve_file(path).c_str(), 0), 0);
    fill();
    EXPECT_TRUE(
        test::fails(ledger.acquire(intent(2)), Code::kBusy, "is full; free at least 1 MiB"));
    ledger::Ledger other = ledger::Ledger::open(path).take();
    EXPECT_TRUE(test::fails(other.acquire(intent(2)), Code::kBusy, "running containers continue"));
    EXPECT_EQ(other.live().take().size(), 1U);
    EXPECT_EQ(other.find(running.id).take().value().state, ledger::LeaseState::kRunning);
    ASSERT_TRUE(test::succeeds(base::remove_file(dir_ / "filler")));
    EXPECT_TRUE(test::succeeds(ledger.acquire(intent(2))));
  });
}

}  // namespace
}  // namespace hook::ledger
