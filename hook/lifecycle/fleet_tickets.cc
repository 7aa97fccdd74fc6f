// SPDX-License-Identifier: Apache-2.0
// The tickets that requests of this host left in the queue of a fleet.
#include <charconv>
#include <set>

#include "base/names.h"
#include "base/text.h"
#include "hook/lifecycle/fleet_place.h"
#include "hook/lifecycle/queue_turn.h"

namespace hook::lifecycle {
namespace {

using namespace base::names;

// The ticket's number in this host's ledger, as its id in the fleet has it.
std::optional<int64_t> number_of(const fleet::Ticket& ticket) {
  const std::vector<std::string_view> parts = base::split(ticket.id, '-');
  if (parts.size() != 3) return std::nullopt;
  int64_t number = 0;
  const char* const end = parts[1].data() + parts[1].size();
  const auto [at, error] = std::from_chars(parts[1].data(), end, number);
  if (error != std::errc() || at != end) return std::nullopt;
  return number;
}

}  // namespace

Status sweep_tickets(Env& env, const OpenFleet& fleet, const std::vector<fleet::Waiting>& tickets) {
  std::optional<std::set<int64_t>> living;
  for (const fleet::Waiting& one : tickets) {
    if (one.ticket.host != env.ledger.host().tag()) continue;
    if (!living) {
      living.emplace();
      for (const ledger::Waiter& waiter : TRY(living_waiters(env))) living->insert(waiter.ticket);
    }
    const std::optional<int64_t> number = number_of(one.ticket);
    if (number && living->contains(*number)) continue;
    TRY(fleet::leave_line(fleet.at_last(), one.resource, one.ticket));
  }
  return {};
}

}  // namespace hook::lifecycle
