// SPDX-License-Identifier: Apache-2.0
// queue.
#include "cmd/ipuctl/queue_commands.h"

#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/names.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/fleet.h"
#include "cmd/ipuctl/tenants.h"
#include "cmd/ipuctl/viewer.h"
#include "hook/config/paths.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/fleet_share.h"
#include "hook/lifecycle/fleet_view.h"
#include "hook/lifecycle/open_fleet.h"
#include "hook/lifecycle/queue_turn.h"

namespace ipuctl {
namespace {

using namespace base::names;

struct QueueOptions {
  Output output = Output::kTable;
  std::string pool;  // empty: all
};

// What the store of a fleet says of its queue.
struct FleetQueue {
  std::vector<hook::fleet::Waiting> waiting;
  std::vector<hook::config::TenantConfig> tenants;
  std::vector<hook::ledger::Holding> held;
};

Result<std::optional<FleetQueue>> read_fleet_queue(const hook::lifecycle::Env& env) {
  const std::optional<hook::lifecycle::OpenFleet> fleet = TRY(hook::lifecycle::open_fleet(env));
  if (!fleet) return std::optional<FleetQueue>();
  FleetQueue queue;
  queue.waiting = TRY(hook::fleet::list_queue(fleet->at_last()));
  if (queue.waiting.empty()) return std::optional(std::move(queue));
  hook::fleet::Shares shares = TRY(hook::fleet::read_shares(fleet->at_last()));
  queue.held =
      hook::lifecycle::without_waiting(hook::lifecycle::holdings_of(shares), queue.waiting);
  queue.tenants = std::move(shares.tenants);
  return std::optional(std::move(queue));
}

void keep_pool(std::vector<Place>& places, const std::string& pool) {
  std::erase_if(places,
                [&](const Place& place) { return !pool.empty() && pool_of(place.waiter) != pool; });
}

Result<Outcome> run_queue(const Viewer& viewer, const QueueOptions& options) {
  // A copy does not know which host it is of.
  hook::ledger::Ledger ledger = TRY(may_be_in_fleet() ? existing_ledger() : read_ledger());
  Outcome outcome;
  WholeQueue queue = TRY(whole_queue(ledger, options.pool, outcome.obstacles));
  Overview overview;
  overview.queue = std::move(queue.places);
  if (overview.queue.empty()) TRY(check_pool(options.pool));
  Names names;
  for (const Place& place : overview.queue) names.merge(names_of({place.waiter}));
  TRY(viewer.hide_others(ledger, overview));
  outcome.text = queue_text(overview.queue, names, options.output, queue.tag);
  return outcome;
}

}  // namespace

Result<std::vector<Place>> queue_of(hook::ledger::Ledger& ledger, const std::string& pool) {
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  std::vector<Place> places =
      places_of(in_served_order(ledger, TRY(hook::lifecycle::living_waiters(env))));
  keep_pool(places, pool);
  return places;
}

Result<WholeQueue> whole_queue(hook::ledger::Ledger& ledger, const std::string& pool,
                               std::vector<Error>& obstacles) {
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  // The fleet first: a request is in the ledger before it is in the fleet.
  Result<std::optional<FleetQueue>> read = read_fleet_queue(env);
  if (!read.ok()) obstacles.push_back(read.error());
  WholeQueue queue;
  if (!read.ok() || !read.value()) {
    queue.places = TRY(queue_of(ledger, pool));
    return queue;
  }
  FleetQueue fleet = *std::move(read).take();
  queue.tag = ledger.host().tag();
  std::vector<hook::lifecycle::Queued> order = hook::lifecycle::fleet_order(
      queue.tag, in_served_order(ledger, TRY(hook::lifecycle::living_waiters(env))), fleet.waiting,
      fleet.tenants, fleet.held);
  std::vector<hook::ledger::Waiter> waiters;
  for (hook::lifecycle::Queued& one : order) waiters.push_back(std::move(one.waiter));
  queue.places = places_of(std::move(waiters));
  for (size_t i = 0; i < order.size(); ++i) queue.places[i].ticket = std::move(order[i].ticket);
  keep_pool(queue.places, pool);
  queue.tenants = std::move(fleet.tenants);
  queue.held = std::move(fleet.held);
  return queue;
}

std::string requester_of(const hook::ledger::Waiter& waiter) {
  const std::string on = waiter.host.empty() ? "" : str(" on host ", waiter.host);
  return hook::lifecycle::requester_text(waiter.container) + on;
}

std::string ahead_text(const WholeQueue& queue, const Place& place) {
  for (const Place& one : queue.places) {
    if (one.waiter.resource != place.waiter.resource || one.position != 1) continue;
    if (place.position == 1) return "";
    const std::string ipus = one.waiter.ipus == 0 ? "" : str(", for ", one.waiter.ipus, " IPUs");
    return str("; the first is ", requester_of(one.waiter), ipus);
  }
  return "";
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
  CLI::App& group = add_listing_group(
      app,
      {"queue", "List the containers that wait for IPUs, in the order in which they are served",
       "ipuctl queue\nipuctl queue --pool pod64"},
      chosen, [&viewer, options] { return run_queue(viewer, *options); });
  Options declared(group);
  declared.list_output(options->output);
  declared.watch();
  declared.text({"--pool", "NAME", "List only this pool (default: all)"}, options->pool);
  add_queue_cancel(group, viewer, chosen);
}

}  // namespace ipuctl
