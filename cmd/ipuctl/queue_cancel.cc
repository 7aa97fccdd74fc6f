// SPDX-License-Identifier: Apache-2.0
// queue cancel.
#include <algorithm>
#include <memory>
#include <set>

#include "base/names.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/queue_commands.h"
#include "cmd/ipuctl/viewer.h"
#include "hook/fleet/queue.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/open_fleet.h"

namespace ipuctl {
namespace {

using namespace base::names;
using hook::ledger::Waiter;

struct CancelOptions {
  Output output = Output::kTable;
  std::string container;
  bool all = false;
  std::string pool;  // with all; empty: all pools
};

// Returns the start of LEASE as if it had a place in the queue.
Waiter waiter_of(const hook::ledger::Lease& lease) {
  Waiter waiter;
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
Result<std::vector<Place>> all_waiters(hook::ledger::Ledger& ledger, const std::string& pool,
                                       std::vector<Error>& obstacles) {
  std::vector<Place> places = TRY(whole_queue(ledger, pool, obstacles)).places;
  std::set<std::string> own;  // containers of this host
  for (const Place& place : places)
    if (place.waiter.host.empty()) own.insert(place.waiter.container);
  for (const hook::ledger::Lease& lease : TRY(ledger.queue().starts())) {
    const bool is_asked = pool.empty() || lease.pool == pool;
    if (is_asked && own.insert(lease.container).second) places.push_back({0, 0, waiter_of(lease)});
  }
  return places;
}

std::vector<Waiter> waiters_of(const std::vector<Place>& places) {
  std::vector<Waiter> waiters;
  for (const Place& place : places) waiters.push_back(place.waiter);
  return waiters;
}

// Keeps of PLACES what TEXT means: a ticket, or a container as find_waiters() finds it.
Status keep_meant(std::vector<Place>& places, const std::string& text) {
  const auto has_ticket = [&](const Place& place) { return place.ticket == text; };
  if (!text.empty() && std::any_of(places.begin(), places.end(), has_ticket)) {
    std::erase_if(places, [&](const Place& place) { return !has_ticket(place); });
    return {};
  }
  const std::vector<Waiter> meant = TRY(find_waiters(waiters_of(places), text));
  const std::string& host = meant.front().host;
  for (const Waiter& one : meant) {
    if (one.host == host) continue;
    return Error(Code::kInvalid, str("requests of several hosts are called ", quote(text),
                                     "; give the ticket of one, as 'ipuctl queue' shows it"));
  }
  std::erase_if(places, [&](const Place& place) {
    return place.waiter.container != meant.front().container || place.waiter.host != host;
  });
  return {};
}

// Keeps of PLACES those that VIEWER owns.
Status keep_own(const Viewer& viewer, hook::ledger::Ledger& ledger, std::vector<Place>& places) {
  std::vector<Waiter> own = waiters_of(places);
  TRY(viewer.keep_own(ledger, own));
  std::erase_if(places, [&](const Place& place) {
    return std::none_of(own.begin(), own.end(), [&](const Waiter& one) {
      return one.host == place.waiter.host && one.container == place.waiter.container;
    });
  });
  return {};
}

Result<std::vector<Place>> chosen_places(const Viewer& viewer, hook::ledger::Ledger& ledger,
                                         const CancelOptions& options,
                                         std::vector<Error>& obstacles) {
  std::vector<Place> places = TRY(all_waiters(ledger, options.pool, obstacles));
  TRY(keep_own(viewer, ledger, places));
  if (!options.all) {
    TRY(keep_meant(places, options.container));
    return places;
  }
  // Whoever empties a host does not empty the others.
  std::erase_if(places, [](const Place& place) { return !place.waiter.host.empty(); });
  if (places.empty()) TRY(check_pool(options.pool));
  return places;
}

// Takes the place of WAITER in the ledger away, and tells its start to give up. Returns whether it
// still waited.
Result<bool> cancel_here(hook::ledger::Ledger& ledger, const Waiter& waiter) {
  bool waited = TRY(ledger.queue().leave(waiter.ticket)) == base::Removed::kNow;
  for (const hook::ledger::Lease& lease : TRY(ledger.queue().starts())) {
    if (lease.container != waiter.container) continue;
    if (TRY(ledger.queue().cancel(lease)) == base::Removed::kNow) waited = true;
  }
  return waited;
}

// Does so by the fleet's queue.
Status cancel_in_fleet(const hook::lifecycle::Env& env, const Place& place) {
  const auto fleet = TRY(hook::lifecycle::open_fleet(env));
  if (!fleet) return {};
  const std::string& resource = place.waiter.resource;
  const std::string pool = pool_of(place.waiter);
  const std::string partition =
      resource.size() == pool.size() ? "" : resource.substr(pool.size() + 1);
  return hook::fleet::cancel_ticket(fleet->at_last(), {pool, partition}, place.ticket);
}

// Returns whether the request of PLACE still waited.
Result<bool> cancel(const hook::lifecycle::Env& env, const Place& place) {
  if (place.waiter.host.empty()) {
    const bool waited = TRY(cancel_here(env.ledger, place.waiter));
    // It only wakes the request, which otherwise looks a little later.
    if (waited && !place.ticket.empty()) (void)cancel_in_fleet(env, place);
    return waited;
  }
  const Status told = cancel_in_fleet(env, place);
  if (!told.ok() && told.error().code() != Code::kNotFound) return told.error();
  return told.ok();
}

// A start that waits notices at its next step, and fails.
Result<Outcome> run_cancel(const Viewer& viewer, const CancelOptions& options) {
  TRY(check_one_of(!options.container.empty(), options.all, "a container that waits or --all"));
  hook::ledger::Ledger ledger = TRY(open_ledger());
  const hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  std::vector<Waiter> cancelled;
  Outcome outcome;
  Result<std::vector<Place>> chosen = chosen_places(viewer, ledger, options, outcome.obstacles);
  if (!chosen.ok() && outcome.obstacles.empty()) return chosen.error();
  // The fleet, which does not answer, may have it.
  if (!chosen.ok()) outcome.obstacles.push_back(chosen.error());
  for (const Place& place : chosen.ok() ? chosen.value() : std::vector<Place>()) {
    const Waiter& waiter = place.waiter;
    const std::string who = requester_of(waiter);
    if (!TRY(cancel(env, place))) {
      outcome.obstacles.emplace_back(Code::kBusy, str(who, " does not wait any more"));
      continue;
    }
    cancelled.push_back(waiter);
    const Status recorded =
        ledger.events().record(str(viewer.user() ? str("user ", *viewer.user(), ": ") : "",
                                   "queue cancel removed ", who, " from the queue"));
    if (!recorded.ok()) outcome.obstacles.push_back(recorded.error());
  }
  outcome.text = cancelled_text(cancelled, options.output);
  return outcome;
}

}  // namespace

void add_queue_cancel(CLI::App& queue, const Viewer& viewer, Command& chosen) {
  const auto cancel = std::make_shared<CancelOptions>();
  Options declared = add_command(
      queue,
      {"cancel", "Make a container that waits for IPUs give up", "ipuctl queue cancel --all"},
      chosen, [&viewer, cancel] { return run_cancel(viewer, *cancel); });
  declared.output(cancel->output);
  declared.text({"CONTAINER", "",
                 "Id of the container, or its beginning, or its name; or the name of a"
                 " reservation; or a ticket"},
                cancel->container);
  declared.flag("--all", cancel->all, "All containers and reservations that wait on this host");
  declared.text({"--pool", "NAME", "Only those that wait for this pool (default: all)"},
                cancel->pool);
}

}  // namespace ipuctl
