// SPDX-License-Identifier: Apache-2.0
// What runs in one process and grows: the look of a start at the leases that live already, of which
// this process holds all, so that nothing is found; and the check of the audit log.
#include <benchmark/benchmark.h>

#include <fstream>
#include <string>

#include "base/names.h"
#include "base/process.h"
#include "hook/ledger/audit_verify.h"
#include "hook/lifecycle/end/release.h"
#include "tests/support/temp_dir.h"

namespace {

using namespace base::names;

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

Status look(benchmark::State& state, const std::string& path) {
  hook::ledger::Ledger ledger = TRY(hook::ledger::Ledger::open(path));
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  uint32_t found = 0;
  env.start_reconcile = [&found] { ++found; };
  const base::ProcessId self = TRY(base::current_process());
  for (int64_t i = 0; i < state.range(0); ++i) TRY(add_lease(ledger, self));
  for (auto _ : state) TRY(hook::lifecycle::end::reconcile_soon(env));
  if (found == 0) return {};
  return Error(Code::kInternal, "a lease that runs was taken for one that ended");
}

void look_at_live_leases(benchmark::State& state) {
  const test::TempDir directory;
  const Status done = look(state, directory / "ledger.db");
  if (!done.ok()) state.SkipWithError(done.error().message().c_str());
}
BENCHMARK(look_at_live_leases)->Arg(1)->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond);

// Writes COUNT lines of an audit log. Returns the mark of the last.
hook::ledger::AuditMark write_lines(const std::string& path, int64_t count) {
  std::ofstream file(path);
  hook::ledger::AuditMark mark;
  hook::ledger::Event event;
  event.lease = std::string(32, 'a');
  event.container = std::string(64, 'c');
  event.pool = "pod64";
  event.partition = "ctk-0123456789abcdef";
  event.text = "RUNNING, as process 4711";
  event.details = R"({"tenant":"","ipus":4,"uid":0,"loginuid":null,"program":"hook"})";
  while (mark.number < count) {
    event.number = ++mark.number;
    event.at_ms = 1'000'000'000'000 + event.number;
    const std::string line = hook::ledger::audit_line(event, mark.hash);
    mark.hash = hook::ledger::audit_hash(line);
    file << line << '\n';
  }
  return mark;
}

void verify_audit_log(benchmark::State& state) {
  const test::TempDir directory;
  const std::string path = directory / "audit.log";
  const hook::ledger::AuditMark last = write_lines(path, state.range(0));
  for (auto _ : state) {
    const auto report = hook::ledger::verify_audit({path}, last);
    if (report.ok() && !report.value().fault) continue;
    state.SkipWithError("a log without a fault was not verified");
    break;
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(verify_audit_log)->Arg(1000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
