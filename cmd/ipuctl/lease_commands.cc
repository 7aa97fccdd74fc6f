// SPDX-License-Identifier: Apache-2.0
// version, ps, lease show and refresh, queue, gc.
#include <map>
#include <memory>

#include "base/json.h"
#include "base/process.h"
#include "base/text.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/print_lease.h"
#include "hook/config/paths.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/network.h"
#include "hook/lifecycle/partitions.h"
#include "hook/lifecycle/release.h"
#include "hook/lifecycle/turn.h"

namespace ipuctl {
namespace {

using base::Deadline;
using base::Result;
using base::str;

constexpr std::chrono::milliseconds kReleaseTime{60'000};

struct ListOptions {
  Output output = Output::kTable;
  std::string pool;  // empty: all
};

struct LeaseOptions {
  Output output = Output::kTable;
  std::string lease;
};

struct GcOptions {
  Output output = Output::kTable;
  bool dry_run = false;
};

Result<Outcome> run_version(const Output& output) {
  if (output == Output::kTable) return Outcome{str("ipuctl ", hook::product_version(), "\n")};
  return Outcome{base::to_pretty_text({{"version", hook::product_version()}})};
}

Result<Outcome> run_ps(const ListOptions& options) {
  hook::Ledger ledger = TRY(open_ledger());
  std::vector<hook::Lease> leases = TRY(ledger.live());
  std::erase_if(leases, [&](const hook::Lease& lease) {
    return !options.pool.empty() && lease.pool != options.pool;
  });
  return Outcome{leases_text(leases, options.output)};
}

Result<Outcome> run_lease_show(const LeaseOptions& options) {
  hook::Ledger ledger = TRY(open_ledger());
  const hook::Lease lease = TRY(ledger.get(options.lease));
  return Outcome{lease_text(lease, options.output)};
}

// Each lease by itself: one whose controller does not answer keeps the others from nothing.
Result<Outcome> run_lease_refresh(const Output& output) {
  hook::Ledger ledger = TRY(open_ledger());
  hook::Env env = hook::product_env(ledger);
  std::vector<hook::Lease> moved;
  std::vector<base::Error> obstacles;
  for (hook::Lease& lease : TRY(ledger.live())) {
    Result<hook::Refreshed> done = hook::refresh_lease(env, lease, Deadline::after(kReleaseTime));
    if (!done.ok()) {
      obstacles.push_back(std::move(done).error());
    } else if (done.value() == hook::Refreshed::kMoved) {
      moved.push_back(std::move(lease));
    }
  }
  return Outcome{leases_text(moved, output), std::move(obstacles)};
}

// A resource is a pool, or "POOL/PARTITION"; the name of a pool has no '/'.
bool is_of_pool(const hook::Waiter& waiter, const std::string& pool) {
  return waiter.resource.substr(0, waiter.resource.find('/')) == pool;
}

Result<Outcome> run_queue(const ListOptions& options) {
  hook::Ledger ledger = TRY(open_ledger());
  hook::Env env = hook::product_env(ledger);
  std::map<std::string, size_t> lengths;  // by resource
  std::vector<Place> queue;
  for (hook::Waiter& waiter : TRY(hook::waiting(env))) {
    const size_t position = ++lengths[waiter.resource];
    if (!options.pool.empty() && !is_of_pool(waiter, options.pool)) continue;
    queue.push_back({position, std::move(waiter)});
  }
  return Outcome{queue_text(queue, options.output)};
}

Result<std::vector<hook::Waiter>> find_dead_waiters(hook::Ledger& ledger) {
  const std::string boot = TRY(base::boot_id());
  std::vector<hook::Waiter> waiters = TRY(ledger.queue().list());
  std::erase_if(waiters, [&](const hook::Waiter& waiter) {
    return waiter.boot_id == boot && base::is_running(waiter.owner);
  });
  return waiters;
}

Result<Outcome> run_gc(const GcOptions& options) {
  hook::Ledger ledger = TRY(open_ledger());
  hook::Env env = hook::product_env(ledger);
  Remains remains;
  remains.waiters = TRY(find_dead_waiters(ledger));
  if (options.dry_run) {
    remains.leases = TRY(hook::find_orphans(env));
    remains.partitions = TRY(hook::find_leftovers(env));
    return Outcome{remains_text(remains, options.output)};
  }
  for (const hook::Waiter& waiter : remains.waiters) TRY(ledger.queue().leave(waiter.ticket));
  hook::Reconciled done = TRY(hook::reconcile(env, Deadline::after(kReleaseTime)));
  std::string text = cleaned_text(done, remains.waiters, options.output);
  return Outcome{std::move(text), std::move(done.obstacles)};
}

void add_ps(CLI::App& app, Command& chosen) {
  const auto options = std::make_shared<ListOptions>();
  Options declared = add_command(app, "ps", "List the leases of this host's containers", chosen,
                                 [options] { return run_ps(*options); });
  declared.output(options->output);
  declared.text({"--pool", "NAME", "Only of this pool"}, options->pool);
}

void add_queue(CLI::App& app, Command& chosen) {
  const auto options = std::make_shared<ListOptions>();
  Options declared = add_command(app, "queue", "List who waits for IPUs, in order of arrival",
                                 chosen, [options] { return run_queue(*options); });
  declared.output(options->output);
  declared.text({"--pool", "NAME", "Only of this pool"}, options->pool);
}

void add_lease(CLI::App& app, Command& chosen) {
  CLI::App& group = add_group(app, "lease", "Leases");
  const auto options = std::make_shared<LeaseOptions>();
  Options declared = add_command(group, "show", "Show one lease", chosen,
                                 [options] { return run_lease_show(*options); });
  declared.output(options->output);
  declared.argument("LEASE", options->lease, "Id of a lease or a container, or the start of one");
  const auto output = std::make_shared<Output>(Output::kTable);
  add_command(group, "refresh", "Follow partitions that the controller has relocated", chosen,
              [output] { return run_lease_refresh(*output); })
      .output(*output);
}

void add_gc(CLI::App& app, Command& chosen) {
  const auto options = std::make_shared<GcOptions>();
  Options declared = add_command(app, "gc", "Release what ended processes left", chosen,
                                 [options] { return run_gc(*options); });
  declared.output(options->output);
  declared.flag("--dry-run", options->dry_run, "Only say what would be released");
}

void add_version(CLI::App& app, Command& chosen) {
  const auto output = std::make_shared<Output>(Output::kTable);
  add_command(app, "version", "Show the version of the toolkit", chosen, [output] {
    return run_version(*output);
  }).output(*output);
}

}  // namespace

void add_lease_commands(CLI::App& app, Command& chosen) {
  add_ps(app, chosen);
  add_lease(app, chosen);
  add_queue(app, chosen);
  add_gc(app, chosen);
  add_version(app, chosen);
}

}  // namespace ipuctl
