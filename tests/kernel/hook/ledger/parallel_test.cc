// SPDX-License-Identifier: Apache-2.0
// Eight processes take addresses at the same time, thousands of them: none is ever given twice.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "base/fs.h"
#include "base/text.h"
#include "hook/ledger/ledger.h"
#include "tests/kernel/hook/ledger/files_in_memory.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace hook::ledger {
namespace {

using base::str;

constexpr int kProcesses = 8;
constexpr int kLeasesEach = 1000;  // process
constexpr int64_t kQuarantineMs = 2000;

// By all processes.
struct Shared {
  std::atomic<int64_t> now{1'000'000'000'000};
  std::atomic<int64_t> refused{0};
};

class ParallelLedger : public testing::Test {
 protected:
  void SetUp() override {
    void* const shared =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(shared, MAP_FAILED);
    shared_ = new (shared) Shared;
  }
  void TearDown() override {
    for (const pid_t child : children_) {
      (void)::kill(child, SIGKILL);
      (void)::waitpid(child, nullptr, 0);
    }
    if (shared_ != nullptr) (void)::munmap(shared_, sizeof *shared_);
  }

  // Runs WORK in each process, on a ledger that it opened itself; what it returns are lines. The
  // lines of all.
  std::vector<std::string> run(const std::function<std::string(ledger::Ledger&, int)>& work) {
    for (int i = 0; i < kProcesses; ++i) {
      const pid_t child = ::fork();
      if (child == 0) be_child(work, i);
      if (child < 0) ADD_FAILURE() << "fork failed";
      if (child > 0) children_.push_back(child);
    }
    while (!children_.empty()) {
      int status = 0;
      EXPECT_EQ(::waitpid(children_.back(), &status, 0), children_.back());
      EXPECT_EQ(status, 0);
      children_.pop_back();
    }
    std::vector<std::string> lines;
    for (int i = 0; i < kProcesses; ++i) {
      const std::string text = base::read_file(result_of(i), 1 << 24).take();
      for (const std::string_view line : base::split(base::trim(text), '\n')) {
        lines.emplace_back(line);
      }
    }
    return lines;
  }

  // Absent if no address is left.
  std::optional<ledger::Lease> try_allocate(ledger::Ledger& ledger) {
    base::Result<ledger::Lease> lease = ledger.acquire(intent_);
    if (is_refused(lease)) return std::nullopt;
    must(lease);
    const base::Status allocated =
        ledger.mark_allocated(lease.value(), {}, {}, {{intent_.rails[0], "roce0"}});
    if (!is_refused(allocated)) {
      must(allocated);
      return std::move(lease).take();
    }
    release(ledger, lease.value());
    return std::nullopt;
  }
  static void release(ledger::Ledger& ledger, ledger::Lease& lease) {
    must(ledger.begin_release(lease, {}, ""));
    must(ledger.finish_release(lease));
  }
  void use_range(const char* first, const char* last) {
    intent_.rails = {{"ens1f0",
                      {},
                      netns::parse_prefix("10.5.0.0/16").take(),
                      netns::parse_address(first).take(),
                      netns::parse_address(last).take()}};
  }

  template <typename T>
  bool is_refused(const base::Result<T>& result) {
    if (result.ok() || result.error().message().find("are taken") == std::string::npos)
      return false;
    ++shared_->refused;
    return true;
  }
  // In a child process there is nothing else to do.
  template <typename T>
  static void must(const base::Result<T>& result) {
    if (result.ok()) return;
    (void)std::fprintf(stderr, "%s\n", result.error().message().c_str());
    ::_exit(1);
  }

  test::FilesInMemory files_;
  test::TempDir dir_;
  ledger::Intent intent_{
      "container", "/run/bundle", "", {"pod64", config::Provider::kVipu, "10.1.3.101:8090"}, {}, 1,
      {}};
  Shared* shared_ = nullptr;

 private:
  std::string result_of(int process) { return dir_ / str("result-", process); }
  [[noreturn]] void be_child(const std::function<std::string(ledger::Ledger&, int)>& work,
                             int number) {
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    base::Result<ledger::Ledger> ledger =
        ledger::Ledger::open(dir_ / "state/ledger.db", [this] { return shared_->now.load(); });
    must(ledger);
    must(base::write_atomic(result_of(number), work(ledger.value(), number), {}));
    ::_exit(0);
  }
  std::vector<pid_t> children_;
};

TEST_F(ParallelLedger, NeverGivesAnAddressOrAMacTwice) {
  use_range("10.5.200.0", "10.5.235.39");
  const std::vector<std::string> lines = run([this](ledger::Ledger& ledger, int) {
    std::string text;
    for (int i = 0; i < kLeasesEach; ++i) {
      const ledger::RailLease rail = try_allocate(ledger).value().rails.at(0);
      text += str(netns::to_string(rail.address), ' ', netns::to_string(rail.mac), '\n');
    }
    return text;
  });
  std::set<std::string> addresses;
  std::set<std::string> macs;
  for (const std::string& line : lines) {
    const std::vector<std::string_view> words = base::split(line, ' ');
    ASSERT_EQ(words.size(), 2U) << line;
    EXPECT_TRUE(addresses.emplace(words[0]).second) << line;
    EXPECT_TRUE(macs.emplace(words[1]).second) << line;
  }
  EXPECT_EQ(addresses.size(), static_cast<size_t>(kProcesses * kLeasesEach));
  EXPECT_EQ(macs.size(), addresses.size());
}

// When an address was held. The ledger reads the clock while no other process can write to it, so
// that the times of different processes can be compared.
struct Hold {
  int64_t from = 0;
  int64_t to = 0;
};

class ParallelReuse : public ParallelLedger {
 protected:
  // Takes and releases addresses, up to four at a time. The lines are holds.
  std::string hold_and_release(ledger::Ledger& ledger, int number) {
    std::mt19937 random(static_cast<uint32_t>(number));
    std::vector<ledger::Lease> held;
    std::string text;
    for (int taken = 0; taken < kLeasesEach || !held.empty();) {
      shared_->now += static_cast<int64_t>(random() % 8);
      if (taken < kLeasesEach && held.size() < 4) {
        std::optional<ledger::Lease> lease = try_allocate(ledger);
        if (lease) {
          held.push_back(std::move(*lease));
          ++taken;
        } else {
          shared_->now += 50;  // for the quarantine of one of them to pass
        }
      }
      if (held.empty() || (taken < kLeasesEach && random() % 2 == 0)) continue;
      std::swap(held[random() % held.size()], held.back());
      ledger::Lease ending = std::move(held.back());
      held.pop_back();
      text += str(netns::to_string(ending.rails.at(0).address), ' ', ending.changed_ms);
      release(ledger, ending);
      text += str(' ', ending.changed_ms, '\n');
    }
    return text;
  }
  // By address, in order of time.
  static std::map<std::string, std::vector<Hold>> parse(const std::vector<std::string>& lines) {
    std::map<std::string, std::vector<Hold>> holds;
    for (const std::string& line : lines) {
      const std::vector<std::string_view> words = base::split(line, ' ');
      const int64_t from = base::parse_int<int64_t>(words.at(1), 0, INT64_MAX).take();
      const int64_t to = base::parse_int<int64_t>(words.at(2), 0, INT64_MAX).take();
      holds[std::string(words[0])].push_back({from, to});
    }
    for (auto& [address, of_address] : holds) {
      std::sort(of_address.begin(), of_address.end(),
                [](const Hold& a, const Hold& b) { return a.from < b.from; });
    }
    return holds;
  }
};

TEST_F(ParallelReuse, GivesAnAddressAgainOnlyAfterItsQuarantine) {
  use_range("10.5.200.0", "10.5.200.63");
  const auto holds = parse(
      run([this](ledger::Ledger& ledger, int number) { return hold_and_release(ledger, number); }));
  int64_t reused = 0;
  for (const auto& [address, of_address] : holds) {
    for (size_t i = 1; i < of_address.size(); ++i, ++reused) {
      EXPECT_GE(of_address[i].from, of_address[i - 1].to + kQuarantineMs) << address;
    }
  }
  EXPECT_EQ(holds.size(), 64U);
  EXPECT_EQ(reused, kProcesses * kLeasesEach - 64);
  EXPECT_GT(shared_->refused, 100) << "the quarantine never was in the way";
}

}  // namespace
}  // namespace hook::ledger
