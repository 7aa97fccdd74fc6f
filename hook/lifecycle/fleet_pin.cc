// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/fleet_pin.h"

#include "base/names.h"
#include "hook/fleet/hosts.h"

namespace hook::lifecycle {
namespace {

using namespace base::names;

// Returns the id of the fleet that is there; empty if there is none, and this host knows none.
Result<std::string> find_known(ledger::Ledger& ledger, fleet::Store& store,
                               const std::string& prefix, const Deadline& deadline) {
  const std::string known = TRY(ledger.host().fleet_id(prefix));
  const Result<std::string> id = fleet::read_fleet_id(store, prefix, deadline);
  const bool is_none = !id.ok() && id.error().code() == Code::kNotFound;
  if (!id.ok() && !is_none) return id.error();
  const std::string now = is_none ? "" : id.value();
  if (!known.empty() && now != known) return fleet::fleet_is_gone(known, prefix, now);
  return now;
}

}  // namespace

Status join_known_fleet(ledger::Ledger& ledger, fleet::Store& store, const std::string& prefix,
                        const Deadline& deadline) {
  std::string id = TRY(find_known(ledger, store, prefix, deadline));
  if (id.empty()) id = TRY(fleet::join_fleet(store, prefix, deadline));
  const std::string left = TRY(ledger.host().left_fleet(prefix));
  if (left == id) TRY(ledger.host().check_in(prefix));
  return ledger.host().join_fleet(prefix, id);
}

Status check_known_fleet(ledger::Ledger& ledger, fleet::Store& store, const std::string& prefix,
                         const Deadline& deadline) {
  TRY(find_known(ledger, store, prefix, deadline));
  return {};
}

}  // namespace hook::lifecycle
