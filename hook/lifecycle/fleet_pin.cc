// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/fleet_pin.h"

#include "base/names.h"
#include "base/text.h"
#include "hook/config/paths.h"
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
  TRY(check_not_left(ledger, prefix, id));
  return ledger.host().join_fleet(prefix, id);
}

Status check_not_left(ledger::Ledger& ledger, const std::string& prefix, const std::string& id) {
  if (id.empty() || TRY(ledger.host().left_fleet(prefix)) != id) return {};
  return Error(Code::kDenied, str("fleet: this host has left fleet ", id, " below ", prefix,
                                  "; take [fleet] out of ", config::config_file(),
                                  ", or run 'ipuctl fleet join' to be in it again"));
}

Result<bool> has_left(ledger::Ledger& ledger, const std::string& prefix) {
  const std::string left = TRY(ledger.host().left_fleet(prefix));
  const std::string id = TRY(ledger.host().fleet_id(prefix));
  return !left.empty() && (id.empty() || id == left);
}

Status check_known_fleet(ledger::Ledger& ledger, fleet::Store& store, const std::string& prefix,
                         const Deadline& deadline) {
  TRY(find_known(ledger, store, prefix, deadline));
  return {};
}

}  // namespace hook::lifecycle
