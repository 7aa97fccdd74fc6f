// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/names.h"

#include <set>

#include "base/names.h"
#include "hook/lifecycle/queue_turn.h"
#include "hook/lifecycle/start/container_name.h"

namespace ipuctl {
namespace {

using namespace base::names;
using hook::ledger::Lease;
using hook::ledger::Waiter;

// Returns the name of the reservation that stands in the queue as WAITER; empty if it is none.
std::string name_of_reservation(const std::string& waiter) {
  using hook::lifecycle::kReservationWaiter;
  return waiter.starts_with(kReservationWaiter) ? waiter.substr(kReservationWaiter.size()) : "";
}

template <typename Item>
Names look_up(const std::vector<Item>& items) {
  Names names;
  for (const Item& item : items) {
    if (names.contains(item.container)) continue;
    std::string name = name_of_reservation(item.container);
    if (name.empty()) name = hook::lifecycle::start::container_name(item.container, item.bundle);
    if (!name.empty()) names.emplace(item.container, std::move(name));
  }
  return names;
}

Error ambiguous(const std::string& text) {
  return {Code::kInvalid,
          str(quote(text), " is the name of several containers; give the id of one")};
}

// Returns the only container called NAME; empty if there is none.
Result<std::string> container_called(const Names& names, const std::string& name) {
  std::string found;
  for (const auto& [container, its_name] : names) {
    if (its_name != name) continue;
    if (!found.empty()) return ambiguous(name);
    found = container;
  }
  return found;
}

}  // namespace

Names names_of(const std::vector<Lease>& leases) { return look_up(leases); }
Names names_of(const std::vector<Waiter>& waiters) { return look_up(waiters); }

std::string name_in(const Names& names, const std::string& container) {
  const auto found = names.find(container);
  return found == names.end() ? "" : found->second;
}

// As docker does: the whole id comes first, then a name, then the beginning of an id. But a name of
// a container that holds a lease comes before the id of one that has ended.
Result<Lease> find_lease(hook::ledger::Ledger& ledger, const std::string& text) {
  Result<Lease> lease = ledger.get(text);
  const bool is_whole = lease.ok() && (lease.value().id == text || lease.value().container == text);
  if ((is_whole && is_live(lease.value().state)) || text.empty()) return lease;
  const std::vector<Lease> live = TRY(ledger.live());
  const std::string container = TRY(container_called(names_of(live), text));
  return container.empty() ? std::move(lease) : ledger.get(container);
}

Result<std::vector<Waiter>> find_waiters(std::vector<Waiter> waiters, const std::string& text) {
  std::set<std::string> meant;  // those whose id begins so
  for (const Waiter& waiter : waiters) {
    const bool has_id = name_of_reservation(waiter.container).empty();
    if (!text.empty() && has_id && waiter.container.starts_with(text))
      meant.insert(waiter.container);
  }
  if (!meant.contains(text)) {
    const std::string called = TRY(container_called(names_of(waiters), text));
    if (!called.empty()) meant = {called};
  } else {
    meant = {text};
  }
  if (meant.empty()) {
    return Error(Code::kNotFound,
                 str("no container ", quote(text), " waits for IPUs; see 'ipuctl queue'"));
  }
  if (meant.size() > 1) {
    return Error(Code::kInvalid, str(quote(text),
                                     " matches several containers that wait; give"
                                     " more of the id"));
  }
  std::erase_if(waiters, [&](const Waiter& waiter) { return !meant.contains(waiter.container); });
  return waiters;
}

}  // namespace ipuctl
