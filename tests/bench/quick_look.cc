// SPDX-License-Identifier: Apache-2.0
// What the start of a container pays for the leases that live already: the time of
// reconcile_soon(), medians. All leases are held by this process, so nothing is found.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/fs.h"
#include "base/names.h"
#include "base/process.h"
#include "base/text.h"
#include "hook/lifecycle/end/release.h"

namespace {

using namespace base::names;

constexpr size_t kRounds = 201;

Status add_lease(hook::ledger::Ledger& ledger, const base::ProcessId& owner) {
  hook::ledger::Intent intent;
  intent.container = TRY(base::random_hex(32));
  intent.bundle = "/run/bundle";
  intent.pool.name = "pod64";
  intent.pool.controller = "10.1.3.101:8090";
  intent.ipus = 4;
  intent.owner = owner;
  TRY(ledger.acquire(intent));
  return {};
}

Result<double> median_ms(hook::lifecycle::Env& env) {
  std::vector<double> times;
  for (size_t round = 0; round < kRounds; ++round) {
    const auto from = std::chrono::steady_clock::now();
    TRY(hook::lifecycle::end::reconcile_soon(env));
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - from;
    times.push_back(took.count());
  }
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2];
}

Status measure(const std::string& directory) {
  hook::ledger::Ledger ledger = TRY(hook::ledger::Ledger::open(directory + "/ledger.db"));
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  uint32_t found = 0;
  env.start_reconcile = [&found] { ++found; };
  const base::ProcessId self = TRY(base::current_process());
  size_t there = 0;
  (void)std::printf("a start looks at the live leases\n");
  for (const size_t leases : {1U, 100U, 1000U}) {
    for (; there < leases; ++there) TRY(add_lease(ledger, self));
    const double median = TRY(median_ms(env));
    (void)std::printf("%8zu leases %9.3f ms\n", leases, median);
  }
  if (found == 0) return {};
  return base::Error(base::Code::kInternal, "a lease that runs was taken for one that ended");
}

}  // namespace

int main() {
  std::string directory = (std::filesystem::temp_directory_path() / "ipu-bench-XXXXXX").string();
  if (::mkdtemp(directory.data()) == nullptr) return 1;
  const Status done = measure(directory);
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  if (done.ok()) return 0;
  (void)std::fprintf(stderr, "quick_look: %s\n", done.error().message().c_str());
  return 1;
}
