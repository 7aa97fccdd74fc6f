// SPDX-License-Identifier: Apache-2.0
// What a long history and many leases cost: the steps of one more container, the list behind `ps`,
// and the work of gc. In brackets is the ratio to the first row, which stays near 1 where a cost
// does not grow. Medians. The ledger is in memory if it can be, because a sync would hide what
// grows.
#include <sched.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/fs.h"
#include "base/names.h"
#include "base/process.h"
#include "base/text.h"
#include "hook/lifecycle/end/release.h"
#include "tests/bench/statistics.h"
#include "tests/support/lent_controller.h"

namespace {

using namespace base::names;
using hook::ledger::Lease;
using hook::ledger::Ledger;

constexpr size_t kLeases[] = {1, 100, 1000, 10'000};
constexpr int kRounds = 21;
constexpr int kNotes = 5;  // with its changes, a lease that ended has ten events

enum Column { kAcquire, kAllocate, kRelease, kList, kPs, kGc, kColumns };
using Figures = std::array<std::vector<double>, kColumns>;  // milliseconds

// A host with a ledger of its own and a controller without partitions.
class Host {
 public:
  static Result<std::unique_ptr<Host>> make(const std::string& directory) {
    const std::string file = directory + "/ledger.db";
    auto host = std::make_unique<Host>(TRY(Ledger::open(file)));
    host->file_ = file;
    host->env_.run_dir = directory + "/run";
    host->env_.is_only_ledger = false;
    host->env_.start_reconcile = [] {};
    host->env_.security = [](const auto&) { return hook::config::ControllerSecurity(); };
    host->env_.controller = [fake = &host->controller_](const auto&) {
      return std::make_unique<test::LentController>(*fake, [] {});
    };
    host->rail_.parent = "rail0";
    host->rail_.subnet = TRY(netns::parse_prefix("10.5.0.0/16"));
    host->rail_.first = TRY(netns::parse_address("10.5.1.0"));
    host->rail_.last = TRY(netns::parse_address("10.5.200.255"));
    host->self_ = TRY(base::current_process());
    return host;
  }
  explicit Host(Ledger ledger) : ledger_(std::move(ledger)) {}

  Status acquire() {
    hook::ledger::Intent intent;
    intent.container = TRY(base::random_hex(32));
    intent.bundle = "/run/bundle";
    intent.pool.name = "pod64";
    intent.pool.controller = "10.1.3.101:8090";
    intent.rails = {rail_};
    intent.ipus = 4;
    intent.owner = self_;
    lease_ = TRY(ledger_.acquire(intent));
    return {};
  }
  // Gives it four IPUs of a machine of its own, and an address.
  Status allocate() {
    std::vector<hook::ledger::LeasedIpu> ipus;
    const netns::Address machine = netns::ipv4(0x0a060000 + machines_++);
    for (uint16_t i = 0; i < 4; ++i) {
      ipus.push_back(
          {machine, i, static_cast<uint16_t>(4000 + i), static_cast<uint16_t>(5000 + i)});
    }
    for (int i = 0; i < kNotes; ++i) {
      ledger_.note(lease_.id, hook::ledger::EventKind::kController, "answered in 12 ms");
    }
    TRY(ledger_.mark_allocated(lease_, ipus, {}, {{rail_, "roce0"}}));
    return ledger_.mark_running(lease_, self_);
  }
  Status release() {
    TRY(ledger_.begin_release(lease_, self_, ""));
    return ledger_.finish_release(lease_);
  }
  Status list() {
    TRY(ledger_.live());
    return {};
  }
  // As ps does, which opens the ledger.
  Status list_in_view() {
    Ledger view = TRY(Ledger::open_view(file_));
    TRY(view.live());
    return {};
  }
  Status collect() {
    const base::Deadline deadline = base::Deadline::after(std::chrono::seconds(60));
    const hook::lifecycle::end::Reconciled done =
        TRY(hook::lifecycle::end::reconcile(env_, deadline));
    return done.obstacles.empty() ? Status() : done.obstacles.front();
  }
  void settle() { ledger_.settle(); }

 private:
  Ledger ledger_;
  hook::lifecycle::Env env_ = hook::lifecycle::product_env(ledger_);
  test::FakeController controller_;
  hook::config::RailConfig rail_;
  base::ProcessId self_;
  std::string file_;
  Lease lease_;
  uint32_t machines_ = 0;
};

Status time_into(std::vector<double>& times, const std::function<Status()>& step) {
  const auto from = std::chrono::steady_clock::now();
  TRY(step());
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - from;
  times.push_back(took.count());
  return {};
}

// One more container comes and goes in each round. The readers come last, because they take the
// place of the writers' pages in SQLite's cache.
Result<Figures> measure_rounds(Host& host) {
  Figures figures;
  for (int round = 0; round < kRounds; ++round) {
    TRY(time_into(figures[kAcquire], [&] { return host.acquire(); }));
    TRY(time_into(figures[kAllocate], [&] { return host.allocate(); }));
    TRY(time_into(figures[kRelease], [&] { return host.release(); }));
  }
  for (int round = 0; round < kRounds; ++round) {
    TRY(time_into(figures[kList], [&] { return host.list(); }));
    TRY(time_into(figures[kPs], [&] { return host.list_in_view(); }));
    TRY(time_into(figures[kGc], [&] { return host.collect(); }));
  }
  return figures;
}

// Prints the medians of a row, and their ratios to FIRST, which the first row sets.
void print(size_t count, const char* of, std::span<const std::vector<double>> figures,
           std::vector<double>& first) {
  std::vector<double> row;
  for (const std::vector<double>& times : figures) row.push_back(bench::percentile(times, 50));
  if (first.empty()) first = row;
  (void)std::printf("  %7zu %-6s", count, of);
  for (size_t i = 0; i < row.size(); ++i) {
    (void)std::printf(" %8.3f (%5.1f)", row[i], row[i] / first[i]);
  }
  (void)std::printf("\n");
  (void)std::fflush(stdout);
}

enum class Then { kEnd, kStay };

Status measure_leases(const std::string& directory, Then then) {
  const std::unique_ptr<Host> host = TRY(Host::make(directory));
  std::vector<double> first;
  size_t there = 0;
  for (const size_t leases : kLeases) {
    for (; there < leases; ++there) {
      TRY(host->acquire());
      TRY(host->allocate());
      if (then == Then::kEnd) TRY(host->release());
    }
    host->settle();
    const Figures figures = TRY(measure_rounds(*host));
    print(leases, then == Then::kEnd ? "ended" : "live", figures, first);
  }
  return {};
}

// The work of gc looks at the interfaces of the host: here, at those of a host that has none.
Status measure(const std::string& directory) {
  if (::unshare(CLONE_NEWNET) != 0) return Error::from_errno(errno, "unshare");
  (void)std::printf("growth, in milliseconds\n  %14s", "");
  for (const char* column : {"acquire", "allocate+run", "release", "list", "ps", "gc"}) {
    (void)std::printf(" %16s", column);
  }
  (void)std::printf("\n");
  TRY(measure_leases(directory + "/ended", Then::kEnd));
  return measure_leases(directory + "/live", Then::kStay);
}

}  // namespace

int main() {
  const char* const memory = "/dev/shm";
  std::error_code ignored;
  const bool has_memory = ::access(memory, W_OK) == 0;
  const std::string parent =
      has_memory ? std::string(memory) : std::filesystem::temp_directory_path().string();
  std::string directory = parent + "/ipu-bench-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) return 1;
  const Status done = measure(directory);
  std::filesystem::remove_all(directory, ignored);
  if (done.ok()) return 0;
  (void)std::fprintf(stderr, "growth: %s\n", done.error().message().c_str());
  return 1;
}
