// SPDX-License-Identifier: Apache-2.0
// queue, queue cancel.
#include "cmd/ipuctl/queue_commands.h"

#include <memory>
#include <set>

#include "base/clock.h"
#include "base/names.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/tenants.h"
#include "cmd/ipuctl/viewer.h"
#include "hook/config/paths.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/queue_turn.h"

namespace ipuctl {
namespace {

using namespace base::names;

struct QueueOptions {
  Output output = Output::kTable;
  std::string pool;  // empty: all
};

struct CancelOptions {
  Output output = Output::kTable;
  std::string container;
  bool all = false;
  std::string pool;  // with all; empty: all pools
};

Result<Outcome> run_queue(const Viewer& viewer, const QueueOptions& options) {
  hook::ledger::Ledger ledger = TRY(read_ledger());
  Overview overview;
  overview.queue = TRY(queue_of(ledger, options.pool));
  if (overview.queue.empty()) TRY(check_pool(options.pool));
  Names names;
  for (const Place& place : overview.queue) names.merge(names_of({place.waiter}));
  TRY(viewer.hide_others(ledger, overview));
  return Outcome{queue_text(overview.queue, names, options.output)};
}

// Returns the start of LEASE as if it had a place in the queue.
hook::ledger::Waiter waiter_of(const hook::ledger::Lease& lease) {
  hook::ledger::Waiter waiter;
  waiter.resource = lease.pool;
  waiter.container = lease.container;
  waiter.bundle = lease.bundle;
  waiter.ipus = lease.ipus;
  waiter.owner = lease.owner;
  waiter.boot_id = lease.boot_id;
  waiter.since_ms = lease.created_ms;
  return waiter;
}

// Returns who waits: those in the queue, and those for whom a controller is being asked.
Result<std::vector<hook::ledger::Waiter>> all_waiters(hook::ledger::Ledger& ledger,
                                                      const std::string& pool) {
  std::vector<hook::ledger::Waiter> waiters;
  std::set<std::string> containers;
  for (Place& place : TRY(queue_of(ledger, pool))) {
    containers.insert(place.waiter.container);
    waiters.push_back(std::move(place.waiter));
  }
  for (const hook::ledger::Lease& lease : TRY(ledger.queue().starts())) {
    const bool is_asked = pool.empty() || lease.pool == pool;
    if (is_asked && containers.insert(lease.container).second) waiters.push_back(waiter_of(lease));
  }
  return waiters;
}

Result<std::vector<hook::ledger::Waiter>> chosen_waiters(const Viewer& viewer,
                                                         hook::ledger::Ledger& ledger,
                                                         const CancelOptions& options) {
  std::vector<hook::ledger::Waiter> waiters = TRY(all_waiters(ledger, options.pool));
  TRY(viewer.keep_own(ledger, waiters));
  if (!options.all) return find_waiters(std::move(waiters), options.container);
  if (waiters.empty()) TRY(check_pool(options.pool));
  return waiters;
}

// Takes the place of WAITER away, and tells its start to give up. Returns whether it still waited.
Result<bool> cancel(hook::ledger::Ledger& ledger, const hook::ledger::Waiter& waiter) {
  bool waited = TRY(ledger.queue().leave(waiter.ticket)) == base::Removed::kNow;
  for (const hook::ledger::Lease& lease : TRY(ledger.queue().starts())) {
    if (lease.container != waiter.container) continue;
    if (TRY(ledger.queue().cancel(lease)) == base::Removed::kNow) waited = true;
  }
  return waited;
}

// A start that waits notices at its next step, and fails.
Result<Outcome> run_cancel(const Viewer& viewer, const CancelOptions& options) {
  TRY(check_one_of(!options.container.empty(), options.all, "a container that waits or --all"));
  hook::ledger::Ledger ledger = TRY(open_ledger());
  std::vector<hook::ledger::Waiter> cancelled;
  Outcome outcome;
  for (hook::ledger::Waiter& waiter : TRY(chosen_waiters(viewer, ledger, options))) {
    const std::string who = hook::lifecycle::requester_text(waiter.container);
    if (!TRY(cancel(ledger, waiter))) {
      outcome.obstacles.emplace_back(Code::kBusy, str(who, " does not wait any more"));
      continue;
    }
    cancelled.push_back(std::move(waiter));
    const Status recorded =
        ledger.events().record(str(viewer.user() ? str("user ", *viewer.user(), ": ") : "",
                                   "queue cancel removed ", who, " from the queue"));
    if (!recorded.ok()) outcome.obstacles.push_back(recorded.error());
  }
  outcome.text = cancelled_text(cancelled, options.output);
  return outcome;
}

}  // namespace

Result<std::vector<Place>> queue_of(hook::ledger::Ledger& ledger, const std::string& pool) {
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  std::vector<Place> places =
      places_of(in_served_order(ledger, TRY(hook::lifecycle::living_waiters(env))));
  std::erase_if(places,
                [&](const Place& place) { return !pool.empty() && pool_of(place.waiter) != pool; });
  return places;
}

Result<std::vector<hook::ledger::PartitionRecord>> reservations_of(hook::ledger::Ledger& ledger,
                                                                   const std::string& pool) {
  std::vector<hook::ledger::PartitionRecord> records = TRY(ledger.partitions().all());
  std::erase_if(records, [&](const hook::ledger::PartitionRecord& record) {
    return record.reservation.empty() || (!pool.empty() && record.pool != pool);
  });
  return records;
}

std::string reservation_state(const hook::ledger::PartitionRecord& record) {
  if (record.state != hook::ledger::PartitionState::kReady)
    return std::string(name_of(record.state));
  return has_ended(record, base::unix_millis()) ? "ENDED" : "RESERVED";
}

Status check_pool(const std::string& pool) {
  if (pool.empty()) return {};
  const Result<hook::config::Config> config =
      hook::config::load_config(hook::config::config_file());
  if (config.ok()) TRY(hook::config::find_pool(config.value(), pool));
  return {};
}

void add_queue_commands(CLI::App& app, const Viewer& viewer, Command& chosen) {
  const auto options = std::make_shared<QueueOptions>();
  CLI::App& group =
      add_listing_group(app,
                        {"queue", "List the containers that wait for IPUs, in order of arrival",
                         "ipuctl queue\nipuctl queue --pool pod64"},
                        chosen, [&viewer, options] { return run_queue(viewer, *options); });
  Options declared(group);
  declared.output(options->output);
  declared.text({"--pool", "NAME", "List only this pool (default: all)"}, options->pool);
  const auto cancel = std::make_shared<CancelOptions>();
  Options of_cancel = add_command(
      group,
      {"cancel", "Make a container that waits for IPUs give up", "ipuctl queue cancel --all"},
      chosen, [&viewer, cancel] { return run_cancel(viewer, *cancel); });
  of_cancel.output(cancel->output);
  of_cancel.text(
      {"CONTAINER", "",
       "Id of the container, or its beginning, or its name; or the name of a reservation"},
      cancel->container);
  of_cancel.flag("--all", cancel->all, "All containers and reservations that wait");
  of_cancel.text({"--pool", "NAME", "Only those that wait for this pool (default: all)"},
                 cancel->pool);
}

}  // namespace ipuctl
