// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/fleet_view.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/clock.h"
#include "base/names.h"
#include "hook/lifecycle/queue_turn.h"
#include "hook/lifecycle/shares.h"

namespace hook::lifecycle {
namespace {

using namespace base::names;

std::string resource_name(const fleet::Resource& resource) {
  return resource.partition.empty() ? resource.pool : str(resource.pool, '/', resource.partition);
}

using Line = std::vector<const fleet::Waiting*>;

// Returns LINE, which waits for one resource, in the order in which it is served.
Line in_turn(const Line& line, const std::vector<config::TenantConfig>& tenants,
             const std::vector<ledger::Holding>& held) {
  if (tenants.empty()) return line;
  const int64_t now_ms = base::unix_millis();
  Standing standing{tenants, {}, {}, now_ms};
  for (const ledger::Holding& holding : held) standing.held[holding.tenant] += holding.ipus;
  std::vector<ledger::Waiter> waiters;
  for (const fleet::Waiting* const one : line) {
    ledger::Waiter waiter = to_waiter(*one);
    waiter.ticket = static_cast<int64_t>(waiters.size());
    // The hosts' clocks differ, so each says itself what it has waited for too long.
    waiter.since_ms = one->ticket.is_aged ? now_ms - kLongestPass.count() : now_ms;
    if (one->ticket.is_overdue) standing.overdue.insert(waiter.tenant);
    waiters.push_back(std::move(waiter));
  }
  Line sorted;
  for (const Ranked& one : served_order(waiters, standing))
    sorted.push_back(line[static_cast<size_t>(one.waiter.ticket)]);
  return sorted;
}

// Takes the waiter of the ledger out of LOCAL that has TICKET.
std::optional<ledger::Waiter> take_local(std::vector<ledger::Waiter>& local, const std::string& tag,
                                         const fleet::Ticket& ticket) {
  const auto found = std::find_if(local.begin(), local.end(), [&](const ledger::Waiter& one) {
    return ticket.id.starts_with(str(tag, '-', one.ticket, '-'));
  });
  if (found == local.end()) return std::nullopt;
  ledger::Waiter waiter = std::move(*found);
  local.erase(found);
  return waiter;
}

}  // namespace

ledger::Waiter to_waiter(const fleet::Waiting& waiting) {
  ledger::Waiter waiter;
  waiter.resource = resource_name(waiting.resource);
  waiter.container = waiting.ticket.container;
  waiter.ipus = waiting.ticket.ipus;
  waiter.since_ms = waiting.ticket.since_ms;
  waiter.until_ms = waiting.ticket.until_ms;
  waiter.user = waiting.ticket.user;
  waiter.tenant = waiting.ticket.tenant;
  waiter.host = waiting.ticket.host;
  waiter.pinned = waiting.ticket.pinned;
  return waiter;
}

std::vector<Queued> fleet_order(const std::string& tag, std::vector<ledger::Waiter> local,
                                const std::vector<fleet::Waiting>& fleet,
                                const std::vector<config::TenantConfig>& tenants,
                                const std::vector<ledger::Holding>& held) {
  std::map<std::string, Line> lines;  // by resource
  for (const fleet::Waiting& one : fleet) lines[resource_name(one.resource)].push_back(&one);
  std::vector<Queued> order;
  for (const auto& [resource, line] : lines) {
    for (const fleet::Waiting* const one : in_turn(line, tenants, held)) {
      std::optional<ledger::Waiter> own = take_local(local, tag, one->ticket);
      if (one->ticket.is_cancelled || (!own && one->ticket.host == tag)) continue;
      order.push_back({own ? *std::move(own) : to_waiter(*one), one->ticket.id});
    }
  }
  for (ledger::Waiter& waiter : local) order.push_back({std::move(waiter)});
  return order;
}

}  // namespace hook::lifecycle
