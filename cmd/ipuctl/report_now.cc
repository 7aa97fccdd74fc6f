// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/report_now.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "base/clock.h"
#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/names.h"
#include "cmd/ipuctl/queue_commands.h"
#include "cmd/ipuctl/report_books.h"
#include "hook/config/paths.h"
#include "hook/ledger/tenants.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/open_fleet.h"
#include "hook/lifecycle/shares.h"
#include "vipu/placement.h"

namespace ipuctl {
namespace {

using namespace base::names;
using hook::config::PoolConfig;

// For all pools, and for one of them.
constexpr std::chrono::milliseconds kMapsTime{8000};
constexpr std::chrono::milliseconds kMapTime{2000};

// What decides who is served.
struct Situation {
  std::map<std::string, vipu::Occupancy> pools = {};  // those that answered
  WholeQueue queue = {};
};

// Returns why PLACE, which is the first of its queue, has not got its IPUs yet.
std::string shortage_of(const Place& place, const Situation& situation, const Books& books) {
  const hook::ledger::Waiter& waiter = place.waiter;
  const std::string pool = pool_of(waiter);
  const hook::config::TenantConfig* const tenant =
      hook::config::find_tenant(situation.queue.tenants, waiter.tenant);
  if (tenant != nullptr) {
    const hook::ledger::Share share = hook::lifecycle::to_share(*tenant);
    const auto use = hook::ledger::use_of(share, situation.queue.held, base::unix_millis());
    if (uint64_t{use.held} + waiter.ipus > share.limit) return use_text(share, use);
  }
  if (waiter.resource != pool) {
    const auto partition =
        books.partitions.find(std::pair(pool, waiter.resource.substr(pool.size() + 1)));
    if (partition == books.partitions.end() || partition->second.who.empty())
      return "its partition is not ready yet";
    return str("its partition is used by ", partition->second.who);
  }
  const auto found = situation.pools.find(pool);
  if (found == situation.pools.end()) return "its pool does not answer now";
  const vipu::Wanted wanted{waiter.ipus, 0};
  if (waiter.ipus == 0) return "how many IPUs it asks for is not known yet";
  const Status possible = vipu::check_wanted(found->second.topology(), wanted);
  if (!possible.ok()) return possible.error().message();
  if (vipu::place(found->second, wanted)) return "IPUs are free for it: it is about to get them";
  return vipu::to_text(vipu::why_not(found->second, wanted), wanted);
}

std::string reason_of(const Place& place, const Situation& situation, const Books& books) {
  const std::string ahead = ahead_text(situation.queue, place);
  // It begins with "; ".
  return ahead.empty() ? shortage_of(place, situation, books) : ahead.substr(2);
}

page::Waiting waiting_of(const Place& place, const Names& names, const Situation& situation,
                         const Books& books) {
  const hook::ledger::Waiter& waiter = place.waiter;
  const std::string name = name_in(names, waiter.container);
  const std::string on = waiter.host.empty() ? "" : str(" on host ", waiter.host);
  return {place.position,
          place.length,
          waiter.resource,
          name.empty() ? requester_of(waiter) : name + on,
          waiter.tenant,
          waiter.ipus,
          base::rfc3339(waiter.since_ms),
          base::rfc3339(waiter.until_ms),
          reason_of(place, situation, books)};
}

// Returns the queue, with the shares by which it goes.
Result<WholeQueue> queue_with_shares(hook::ledger::Ledger& ledger, Scope scope,
                                     const hook::config::Config& config,
                                     std::vector<Error>& obstacles) {
  WholeQueue queue;
  if (scope == Scope::kFleet) {
    queue = TRY(whole_queue(ledger, "", obstacles));
  } else {
    queue.places = TRY(queue_of(ledger, ""));
  }
  if (!queue.tag.empty()) return queue;
  std::vector<hook::ledger::Waiter> waiters;
  for (const Place& place : queue.places) waiters.push_back(place.waiter);
  queue.tenants = config.policy.tenants;
  queue.held = hook::lifecycle::without_waiting(TRY(ledger.tenants().holdings()), waiters);
  return queue;
}

// Adds the map of POOL, or why there is none.
void add_map(hook::lifecycle::Env& env, const PoolConfig& pool, const Deadline& deadline,
             const Books& books, Situation& situation, Now& now, std::vector<Error>& obstacles) {
  const Result<vipu::Survey> survey = env.controller(pool)->survey(deadline.capped(kMapTime));
  if (survey.ok()) {
    const auto alone = env.ledger.drain(pool.name).find();
    const bool drained = !now.drained.empty() || (alone.ok() && alone.value().has_value());
    now.pools.push_back(map_of(pool, survey.value(), books, drained));
    situation.pools.emplace(pool.name, vipu::Occupancy::of(survey.value()));
    return;
  }
  page::Pool away{pool.name, hook::config::source_of(pool)};
  away.trouble = survey.error().message();
  now.pools.push_back(std::move(away));
  obstacles.push_back(survey.error());
}

std::string drained_text(const hook::ledger::Drained& drained) {
  return str("since ", base::rfc3339(drained.since_ms),
             drained.reason.empty() ? "" : ": " + drained.reason);
}

// Adds what the fleet's store says of other hosts, if this host is in a fleet.
void add_others_books(const hook::lifecycle::Env& env,
                      const std::vector<hook::ledger::Waiter>& waiting, Books& books,
                      std::vector<Error>& obstacles) {
  const Result<std::optional<hook::lifecycle::OpenFleet>> fleet = hook::lifecycle::open_fleet(env);
  if (!fleet.ok()) return obstacles.push_back(fleet.error());
  if (fleet.value())
    add_fleet_books(*fleet.value(), env.ledger.host().tag(), waiting, books, obstacles);
}

}  // namespace

Result<Now> look_now(hook::ledger::Ledger& ledger, Scope scope, std::vector<Error>& obstacles) {
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  Now now;
  const std::optional<hook::ledger::Drained> drained = TRY(ledger.drain().find());
  if (drained) now.drained = drained_text(*drained);
  // Without a configuration there are no maps, and all else is shown.
  hook::config::Config config;
  Result<hook::config::Config> loaded = hook::config::load_config(hook::config::config_file());
  if (!loaded.ok()) obstacles.push_back(loaded.error());
  if (loaded.ok()) config = std::move(loaded).take();
  Situation situation;
  situation.queue = TRY(queue_with_shares(ledger, scope, config, obstacles));
  Names names;
  std::vector<hook::ledger::Waiter> waiting;
  for (const Place& place : situation.queue.places) {
    names.merge(names_of({place.waiter}));
    waiting.push_back(place.waiter);
  }
  Books books;
  TRY(add_own_books(ledger, waiting, books));
  if (scope == Scope::kFleet) add_others_books(env, waiting, books, obstacles);
  const Deadline deadline = Deadline::after(kMapsTime);
  for (const PoolConfig& pool : config.pools)
    add_map(env, pool, deadline, books, situation, now, obstacles);
  for (const Place& place : situation.queue.places)
    now.queue.push_back(waiting_of(place, names, situation, books));
  now.holdings = std::move(books.holdings);
  return now;
}

}  // namespace ipuctl
