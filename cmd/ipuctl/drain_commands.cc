// SPDX-License-Identifier: Apache-2.0
// drain, pool drain: no new container gets IPUs, and what is left on the host.
#include <cstdio>
#include <memory>

#include "base/clock.h"
#include "base/names.h"
#include "cmd/ipuctl/cdi_files.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/hook_files.h"
#include "cmd/ipuctl/names.h"
#include "cmd/ipuctl/print_lease.h"
#include "cmd/ipuctl/queue_commands.h"
#include "cmd/ipuctl/runtime_site.h"
#include "hook/config/paths.h"
#include "hook/engines/engine.h"
#include "hook/lifecycle/end/release.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/partitions/warm.h"
#include "hook/lifecycle/queue_turn.h"
#include "netns/guard.h"
#include "netns/namespace.h"

namespace ipuctl {
namespace {

using namespace base::names;
using hook::ledger::Lease;
using hook::ledger::PartitionRecord;
using std::chrono::milliseconds;

constexpr milliseconds kPause{500};           // between two looks at the leases
constexpr milliseconds kReleaseTime{30'000};  // for one release of what has ended
constexpr milliseconds kLongest = std::chrono::hours(365 * 24);

struct DrainOptions {
  std::string pool;  // empty: the whole host
  std::optional<milliseconds> timeout;
  std::string reason;
  bool dry_run = false;
  bool end = false;
};

// Returns whether what is of pool IS is meant by POOL; empty: any.
bool is_meant(const std::string& pool, std::string_view is) { return pool.empty() || is == pool; }

// Returns the leases of POOL that hold more than an address in quarantine.
Result<std::vector<Lease>> holding(hook::ledger::Ledger& ledger, const std::string& pool) {
  std::vector<Lease> leases = TRY(ledger.live());
  std::erase_if(leases, [&](const Lease& lease) {
    return lease.state == hook::ledger::LeaseState::kQuarantine || !is_meant(pool, lease.pool);
  });
  return leases;
}

std::string command_of(const DrainOptions& options) {
  return options.pool.empty() ? "ipuctl drain" : "ipuctl pool drain " + options.pool;
}

std::string shown(const Names& names, const std::string& container) {
  const std::string name = name_in(names, container);
  return name.empty() ? base::short_id(container) : name;
}

std::string line_of(const PartitionRecord& record) {
  const std::string of_pool = str(" of pool ", record.pool, " has ", record.ipus, " IPUs: ");
  if (!record.reservation.empty())
    return str("reservation ", record.reservation, of_pool, "end it with 'ipuctl reservation end ",
               record.reservation, " --pool ", record.pool, "'\n");
  if (record.kind == hook::ledger::PartitionKind::kWarm)
    return str("warm partition ", record.name, of_pool, "'ipuctl drain' removes it\n");
  return str("partition ", record.name, of_pool, "remove it with 'ipuctl partition remove ",
             record.name, " --pool ", record.pool, "'\n");
}

// What of the product is still in use on this host, or of one pool, a line each.
struct Rest {
  size_t containers = 0;
  std::string containers_text;
  std::string partitions_text;
};

Result<Rest> find_rest(hook::ledger::Ledger& ledger, const std::string& pool) {
  const std::vector<Lease> leases = TRY(holding(ledger, pool));
  const Names names = names_of(leases);
  Rest rest{leases.size(), "", ""};
  for (const Lease& lease : leases)
    rest.containers_text += str("container ", shown(names, lease.container), " holds ", lease.ipus,
                                " IPUs of pool ", lease.pool, ": end it with its engine\n");
  for (const PartitionRecord& record : TRY(ledger.partitions().all()))
    if (is_meant(pool, record.pool)) rest.partitions_text += line_of(record);
  return rest;
}

// Returns a line for each engine that would look for a program that is gone.
std::string engines_text() {
  constexpr const char* kName = "ipu";
  const auto engines = choose_engines({}, kName);
  std::string text;
  if (!engines.ok()) return text;
  for (const hook::engines::Engine engine : engines.value()) {
    const Result<Site> site = find_site(engine, "");
    if (!site.ok()) continue;
    const auto found = hook::engines::find_runtime(engine, site.value().file, kName);
    if (!found.ok() || found.value().path.empty()) continue;
    const std::string_view name = name_of(engine);
    text += str(name, " has the runtime in ", site.value().file,
                ": remove it with 'ipuctl runtime unconfigure ", name, "'\n");
  }
  return text;
}

// Returns a line for each file by which an engine would look for the hook, and start no container
// without it.
std::string hooks_text() {
  std::string text;
  const auto cdi = cdi_dir();
  if (cdi.ok() && cdi.value())
    text = str("the host keeps CDI files in ", *cdi.value(), ": run 'ipuctl cdi remove'\n");
  for (const std::string& file : hook_files())
    text += str("podman and CRI-O have the hook in ", file, ": remove this file\n");
  return text;
}

std::string filter_text() {
  const auto host = netns::Namespace::current();
  const auto has_guard = host.ok() ? netns::has_guard(host.value()) : Result<bool>(false);
  if (!has_guard.ok() || !has_guard.value()) return "";
  return "the host has the table inet ipu-guard: stop ipu-border.service, ipu-agent.socket and"
         " ipu-agent.service, and run 'ipuctl border remove'\n";
}

Result<Outcome> run_dry(hook::ledger::Ledger& ledger) {
  const Rest rest = TRY(find_rest(ledger, ""));
  Outcome outcome{rest.containers_text + rest.partitions_text + engines_text() + hooks_text() +
                  filter_text()};
  if (outcome.text.empty()) return Outcome{"nothing uses the toolkit on this host\n"};
  outcome.obstacles.emplace_back(Code::kBusy, "the toolkit is still in use on this host");
  return outcome;
}

Status cancel_waits(hook::lifecycle::Env& env, const std::string& pool) {
  const std::vector<hook::ledger::Waiter> waiters = TRY(hook::lifecycle::waiting(env));
  for (const hook::ledger::Waiter& waiter : waiters)
    if (is_meant(pool, waiter.resource.substr(0, waiter.resource.find('/'))))
      TRY(env.ledger.queue().leave(waiter.ticket));
  // Those that have left the queue, because they ask the controller.
  const std::vector<Lease> starts = TRY(env.ledger.queue().starts());
  for (const Lease& lease : starts)
    if (is_meant(pool, lease.pool)) TRY(env.ledger.queue().cancel(lease));
  return {};
}

// Shows on stderr for which containers it waits, each time that this changes.
void show(const std::vector<Lease>& leases, std::string& last) {
  const Names names = names_of(leases);
  std::string text;
  for (const Lease& lease : leases)
    text += str(text.empty() ? "" : ", ", shown(names, lease.container));
  if (std::exchange(last, text) == text) return;
  const std::string line = base::one_line(str("containers that hold IPUs: ", text), 1000);
  (void)std::fprintf(stderr, "%s\n", line.c_str());
}

// Waits until no container holds IPUs, or UNTIL has passed. Releases those that have ended.
Status wait_for_containers(hook::lifecycle::Env& env, const DrainOptions& options,
                           const Deadline& until) {
  std::string last;
  for (;;) {
    (void)TRY(hook::lifecycle::end::reconcile(env, Deadline::after(kReleaseTime)));
    const std::vector<Lease> leases = TRY(holding(env.ledger, options.pool));
    if (leases.empty()) return {};
    show(leases, last);
    if (until.passed()) {
      return Error(
          Code::kBusy,
          str("containers with IPUs", options.pool.empty() ? "" : " of pool " + options.pool, ": ",
              leases.size(), "; no new one gets any. Run '", command_of(options),
              "' again to wait for them, or '", command_of(options), " --end' to go on"));
    }
    base::sleep_for(kPause, until);
  }
}

void remove_warm(hook::lifecycle::Env& env, const std::string& only, Outcome& outcome) {
  const auto config = hook::config::load_config(hook::config::config_file());
  if (!config.ok()) return;
  for (hook::config::PoolConfig pool : config.value().pools) {
    if (!is_meant(only, pool.name)) continue;
    pool.warm.clear();
    const auto done = hook::lifecycle::partitions::refill(env, pool, Deadline::after(kReleaseTime));
    if (!done.ok()) outcome.obstacles.push_back(done.error());
  }
}

Result<Outcome> run_end(hook::ledger::Ledger& ledger, const std::string& pool) {
  const bool ended = TRY(ledger.drain(pool).end());
  const Status other = pool.empty() ? Status() : ledger.drain().check();
  if (!other.ok()) return Outcome{str(other.error().message(), "\n")};
  if (pool.empty()) {
    Outcome outcome{ended ? "containers get IPUs again\n" : "this host was not drained\n"};
    for (const std::string& one : TRY(ledger.drain().pools()))
      outcome.text +=
          str("pool ", one, " is still drained: 'ipuctl pool drain ", one, " --end' ends that\n");
    return outcome;
  }
  return Outcome{ended ? str("containers get IPUs of pool ", pool, " again\n")
                       : str("pool ", pool, " was not drained on this host\n")};
}

Status check_together(const DrainOptions& options) {
  const char* const other = options.end ? "--end" : "--dry-run";
  if (!options.end && !options.dry_run) return {};
  if (options.end) TRY(check_no_effect(options.dry_run, "--dry-run", other));
  TRY(check_no_effect(!options.reason.empty(), "--reason", other));
  return check_no_effect(options.timeout.has_value(), "--timeout", other);
}

Result<Outcome> run_drain(const DrainOptions& options) {
  TRY(check_together(options));
  if (options.dry_run) {
    hook::ledger::Ledger ledger = TRY(read_ledger());
    return run_dry(ledger);
  }
  hook::ledger::Ledger ledger = TRY(open_ledger());
  const std::string& pool = options.pool;
  if (options.end) return run_end(ledger, pool);
  if (!pool.empty()) TRY(load_pool(pool));
  TRY(ledger.drain(pool).begin(options.reason));
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  TRY(cancel_waits(env, pool));
  TRY(wait_for_containers(env, options, Deadline::after(options.timeout.value_or(kLongest))));
  Outcome outcome{str("no container holds IPUs", pool.empty() ? "" : " of pool " + pool,
                      ", and none gets any before '", command_of(options), " --end'\n")};
  remove_warm(env, pool, outcome);
  outcome.text += TRY(find_rest(ledger, pool)).partitions_text;
  return outcome;
}

void add_options(Options& declared, DrainOptions& options) {
  declared.duration(
      {"--timeout", "TIME", "Stop waiting after this time, such as 5m (default: never)"},
      options.timeout);
  declared.text({"--reason", "TEXT", "What refused users read"}, options.reason);
  declared.flag("--end", options.end, "Give IPUs to new containers again");
}

}  // namespace

void add_pool_drain(CLI::App& pool, Command& chosen) {
  const auto options = std::make_shared<DrainOptions>();
  Options declared = add_command(
      pool,
      {"drain", "Give IPUs of one pool to no new container, and wait for those that have some",
       "ipuctl pool drain pod64 --reason repair\nipuctl pool drain pod64 --end"},
      chosen, [options]() -> Result<Outcome> {
        if (options->pool.empty()) return Error(Code::kInvalid, "POOL is empty; name a pool");
        return run_drain(*options);
      });
  declared.argument("POOL", options->pool, "A pool of the configuration");
  add_options(declared, *options);
}

void add_drain(CLI::App& app, Command& chosen) {
  const auto options = std::make_shared<DrainOptions>();
  Options declared =
      add_command(app,
                  {"drain", "Give IPUs to no new container, and wait for those that have some",
                   "ipuctl drain --dry-run\nipuctl drain --reason upgrade\n"
                   "ipuctl drain --end"},
                  chosen, [options] { return run_drain(*options); });
  add_options(declared, *options);
  declared.flag("--dry-run", options->dry_run,
                "Print what still uses the toolkit on this host; change nothing");
}

}  // namespace ipuctl
