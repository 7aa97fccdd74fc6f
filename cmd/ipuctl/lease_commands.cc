// SPDX-License-Identifier: Apache-2.0
// version, ps, lease show and refresh, gc.
#include <algorithm>
#include <iterator>
#include <memory>

#include "base/clock.h"
#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "base/version.h"
#include "cmd/ipuctl/cdi_files.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/noted.h"
#include "cmd/ipuctl/print_lease.h"
#include "cmd/ipuctl/queue_commands.h"
#include "cmd/ipuctl/viewer.h"
#include "hook/config/paths.h"
#include "hook/ledger/rebuilder.h"
#include "hook/lifecycle/accounting.h"
#include "hook/lifecycle/end/release.h"
#include "hook/lifecycle/end/remains.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/network/controllers.h"
#include "hook/lifecycle/network/guard.h"
#include "hook/lifecycle/network/network.h"
#include "hook/lifecycle/network/prohibitions.h"
#include "hook/lifecycle/partitions/hosts.h"
#include "hook/lifecycle/start/check_grant.h"

namespace ipuctl {
namespace {

using namespace base::names;

constexpr std::chrono::milliseconds kRefreshTime{60'000};  // for one lease
constexpr std::chrono::minutes kGcTime{5};
constexpr std::chrono::seconds kNamesTime{5};  // to look up the controllers of all pools
constexpr std::chrono::seconds kLookTime{2};   // at how much room the pools have
constexpr std::chrono::seconds kGuardTime{5};  // to wait for others that make the guard

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
  std::optional<std::chrono::milliseconds> timeout;
};

Result<Outcome> run_version(const Output& output) {
  if (output == Output::kTable) return Outcome{str("ipuctl ", base::product_version(), "\n")};
  return Outcome{base::to_pretty_text({{"version", base::product_version()}})};
}

Result<Outcome> run_ps(const Viewer& viewer, const ListOptions& options) {
  hook::ledger::Ledger ledger = TRY(view_ledger());
  Overview overview;
  overview.leases = TRY(ledger.live());
  std::erase_if(overview.leases, [&](const hook::ledger::Lease& lease) {
    return !options.pool.empty() && lease.pool != options.pool;
  });
  overview.queue = TRY(queue_of(ledger, options.pool));
  overview.reservations = TRY(reservations_of(ledger, options.pool));
  const bool is_empty =
      overview.leases.empty() && overview.queue.empty() && overview.reservations.empty();
  if (is_empty) TRY(check_pool(options.pool));
  std::erase_if(overview.reservations, [&](const hook::ledger::PartitionRecord& record) {
    return std::any_of(overview.leases.begin(), overview.leases.end(), [&](const auto& lease) {
      return lease.pool == record.pool && lease.partition == record.name;
    });
  });
  Names names = names_of(overview.leases);
  for (const Place& place : overview.queue) names.merge(names_of({place.waiter}));
  TRY(viewer.hide_others(ledger, overview));
  return Outcome{overview_text(overview, names, options.output)};
}

Result<Outcome> run_lease_show(const Viewer& viewer, const LeaseOptions& options) {
  hook::ledger::Ledger ledger = TRY(read_ledger());
  const hook::ledger::Lease lease = TRY(find_lease_of(viewer, ledger, options.lease));
  const std::string name = name_in(names_of({lease}), lease.container);
  return Outcome{lease_text(lease, name, options.output)};
}

// Checks what a controller tells after a relocation like what it granted first.
hook::lifecycle::network::CheckMoved check_moved(const hook::lifecycle::Env& env) {
  return [&env](const vipu::Grant& grant,
                const std::vector<hook::ledger::LeasedIpu>& ipus) -> base::Status {
    const hook::config::Config config = TRY(hook::config::load_config(hook::config::config_file()));
    const auto known = TRY(hook::lifecycle::network::known_controllers(env.run_dir, config));
    const std::vector<netns::Address> of_host = TRY(env.host.addresses());
    return hook::lifecycle::start::check_endpoints(config, known, of_host, grant, ipus);
  };
}

// Refreshes each lease by itself, so that an obstacle to one does not stop the others.
Result<Outcome> run_lease_refresh(const Output& output) {
  hook::ledger::Ledger ledger = TRY(open_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  std::vector<hook::ledger::Lease> moved;
  std::vector<base::Error> obstacles;
  for (hook::ledger::Lease& lease : TRY(ledger.live())) {
    Result<hook::lifecycle::network::Refreshed> done = hook::lifecycle::network::refresh_lease(
        env, lease, Deadline::after(kRefreshTime), check_moved(env));
    if (!done.ok()) {
      obstacles.push_back(std::move(done).error());
    } else if (done.value() == hook::lifecycle::network::Refreshed::kMoved) {
      moved.push_back(std::move(lease));
    }
  }
  return Outcome{overview_text({moved}, names_of(moved), output), std::move(obstacles)};
}

Result<Outcome> run_dry_gc(const GcOptions& options) {
  hook::ledger::Ledger ledger = TRY(read_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  const hook::lifecycle::end::Remains remains = TRY(
      hook::lifecycle::end::find_remains(env, Deadline::after(options.timeout.value_or(kGcTime))));
  return Outcome{remains_text(remains, options.output)};
}

// Records what gc released, also in the audit log. A failure to write that is an obstacle.
void record_gc(hook::ledger::Ledger& ledger, hook::lifecycle::end::Reconciled& done) {
  if (!done.released.empty() || !done.partitions.empty()) {
    base::Status recorded =
        ledger.events().record(str("gc released ", done.released.size(), " leases, removed ",
                                   done.partitions.size(), " partitions"));
    if (!recorded.ok()) done.obstacles.push_back(std::move(recorded).error());
  }
  base::Status written = ledger.events().write_audit_log();
  if (!written.ok()) done.obstacles.push_back(std::move(written).error());
}

// Removes old history and what this host made before its ledger was, looks up the controllers, and
// makes the guard of the host, also on a host that starts nothing. Without a configuration it does
// none of this.
void follow_configuration(hook::lifecycle::Env& env, const Deadline& deadline,
                          hook::lifecycle::end::Reconciled& done) {
  const Result<hook::config::Config> config =
      hook::config::load_config(hook::config::config_file());
  if (!config.ok()) return;
  const auto oldest = base::unix_millis() - config.value().ledger.history.count();
  base::Status forgotten = env.ledger.events().forget(oldest);
  if (!forgotten.ok()) done.obstacles.push_back(std::move(forgotten).error());
  Result<std::vector<std::string>> earlier = hook::lifecycle::partitions::remove_of_earlier_boots(
      env, config.value().pools, deadline, done.obstacles);
  if (earlier.ok()) {
    std::move(earlier.value().begin(), earlier.value().end(), std::back_inserter(done.partitions));
  } else {
    done.obstacles.push_back(std::move(earlier).error());
  }
  for (base::Error& error : hook::lifecycle::network::look_up_controllers(
           env, config.value(), Deadline::after(kNamesTime))) {
    done.obstacles.push_back(std::move(error));
  }
  const auto looked =
      hook::lifecycle::record_rooms(env, config.value().pools, Deadline::after(kLookTime));
  if (!looked.ok()) done.obstacles.push_back(looked.error());
  const Result<hook::lifecycle::network::Mended> guarded =
      hook::lifecycle::network::guard_forwarding(env, config.value(), Deadline::after(kGuardTime));
  if (!guarded.ok()) done.obstacles.push_back(guarded.error());
  std::vector<base::Error> behind = hook::lifecycle::network::follow_controllers(
      env, config.value(), Deadline::after(kGuardTime));
  std::move(behind.begin(), behind.end(), std::back_inserter(done.obstacles));
  const auto refreshed = refresh_cdi(env, config.value());
  if (!refreshed.ok()) done.obstacles.push_back(refreshed.error());
}

Result<Outcome> run_gc(const GcOptions& options) {
  if (options.dry_run) return run_dry_gc(options);
  TRY(hook::ledger::Rebuilder::remove_remains(hook::config::ledger_file()));
  hook::ledger::Ledger ledger = TRY(open_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  const std::vector<hook::ledger::Waiter> waiters =
      TRY(hook::lifecycle::end::find_dead_waiters(ledger));
  for (const hook::ledger::Waiter& waiter : waiters) TRY(ledger.queue().leave(waiter.ticket));
  const Deadline deadline = Deadline::after(options.timeout.value_or(kGcTime));
  hook::lifecycle::end::Reconciled done = TRY(hook::lifecycle::end::reconcile(env, deadline));
  follow_configuration(env, deadline, done);
  record_gc(ledger, done);
  const auto obstacles = static_cast<int64_t>(done.obstacles.size());
  note(hook::config::last_gc_file(), {base::unix_millis(), obstacles});  // for the metrics
  std::string text = cleaned_text(done, waiters, options.output);
  return Outcome{std::move(text), std::move(done.obstacles)};
}

void add_ps(CLI::App& app, const Viewer& viewer, Command& chosen) {
  const auto options = std::make_shared<ListOptions>();
  Options declared =
      add_command(app, {"ps", "List the leases of this host's containers", "ipuctl ps -o json"},
                  chosen, [&viewer, options] { return run_ps(viewer, *options); });
  declared.list_output(options->output);
  declared.watch();
  declared.text({"--pool", "NAME", "List only this pool (default: all)"}, options->pool);
}

void add_lease(CLI::App& app, const Viewer& viewer, Command& chosen) {
  CLI::App& group =
      add_group(app, {"lease", "Show and refresh leases", "ipuctl lease show $(docker ps -lq)"});
  const auto options = std::make_shared<LeaseOptions>();
  Options declared =
      add_command(group, {"show", "Show one lease", "ipuctl lease show $(docker ps -lq) -o json"},
                  chosen, [&viewer, options] { return run_lease_show(viewer, *options); });
  declared.output(options->output);
  declared.argument("LEASE", options->lease,
                    "Id of a lease or container, or its beginning, or a container's name");
  const auto output = std::make_shared<Output>(Output::kTable);
  const About refresh{"refresh", "Update containers whose partition the controller has relocated",
                      "ipuctl lease refresh"};
  add_command(group, refresh, chosen, [output] {
    return run_lease_refresh(*output);
  }).output(*output);
}

void add_gc(CLI::App& app, Command& chosen) {
  const auto options = std::make_shared<GcOptions>();
  Options declared = add_command(
      app, {"gc", "Release what ended processes left behind", "ipuctl gc --dry-run\nipuctl gc"},
      chosen, [options] { return run_gc(*options); });
  declared.output(options->output);
  declared.flag("--dry-run", options->dry_run,
                "Print what would be released, and why; change nothing");
  declared.duration({"--timeout", "TIME", "Stop after this time, such as 90s (default: 5m)"},
                    options->timeout);
}

void add_version(CLI::App& app, Command& chosen) {
  const auto output = std::make_shared<Output>(Output::kTable);
  add_command(app, {"version", "Print the version of the toolkit", "ipuctl version"}, chosen,
              [output] { return run_version(*output); })
      .output(*output);
}

}  // namespace

void add_lease_commands(CLI::App& app, const Viewer& viewer, Command& chosen) {
  add_ps(app, viewer, chosen);
  add_lease(app, viewer, chosen);
  add_gc(app, chosen);
  add_version(app, chosen);
}

}  // namespace ipuctl
