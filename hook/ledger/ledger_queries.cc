// SPDX-License-Identifier: Apache-2.0
// Queries of the ledger.
#include <algorithm>
#include <functional>

#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/internal/conditions.h"
#include "hook/ledger/internal/rail_choice.h"
#include "hook/ledger/internal/rows.h"
#include "hook/ledger/internal/store.h"
#include "hook/ledger/ledger.h"

namespace hook::ledger {

using namespace base::names;
using sqlite::Statement;

// The clock ends a quarantine.
Lease Ledger::as_of_now(Lease lease) const {
  if (lease.state == LeaseState::kFree && lease.quarantine_until_ms > store_->now()) {
    lease.state = LeaseState::kQuarantine;
  }
  return lease;
}

Result<std::optional<Lease>> Ledger::find(const std::string& id) {
  std::vector<Lease> leases = TRY(select_leases(store_->database, "id = ?", {id}));
  if (leases.empty()) return std::optional<Lease>();
  return std::optional<Lease>(as_of_now(std::move(leases.front())));
}

Result<Lease> Ledger::get(const std::string& text) {
  constexpr std::string_view kMatches =
      "(substr(id, 1, length(?1)) = ?1 OR substr(container, 1, length(?1)) = ?1)";
  std::vector<Lease> found =
      TRY(select_leases(store_->database, str(LEASE_IS_LIVE " AND ", kMatches), {text}));
  if (found.empty()) found = TRY(select_leases(store_->database, kMatches, {text}));
  if (found.empty() || text.empty()) {
    return Error(Code::kNotFound,
                 str("no lease or container is called ", base::quote(text), "; see 'ipuctl ps'"));
  }
  const auto is_exact = [&](const Lease& lease) {
    return lease.id == text || lease.container == text;
  };
  if (std::any_of(found.begin(), found.end(), is_exact))
    std::erase_if(found, std::not_fn(is_exact));
  // A container that was started again has a lease for each start; the newest is meant.
  const std::string& container = found.back().container;
  for (const Lease& lease : found) {
    if (lease.container != container) {
      return Error(
          Code::kInvalid,
          str(base::quote(text), " matches the leases of several containers; give more of the id"));
    }
  }
  return as_of_now(std::move(found.back()));
}

Result<std::vector<Lease>> Ledger::live() {
  return select_leases(store_->database, LEASE_IS_LIVE, {});
}

Result<std::vector<Lease>> Ledger::leases_of(const std::string& container) {
  std::vector<Lease> leases = TRY(select_leases(store_->database, "container = ?", {container}));
  for (Lease& lease : leases) lease = as_of_now(std::move(lease));
  return leases;
}

Result<std::vector<LeaseHold>> Ledger::holds() { return select_holds(store_->database); }

Result<std::vector<Lease>> Ledger::sharers(const Lease& lease) {
  return select_leases(store_->database,
                       "attachment = ? AND attachment <> '' AND id <> ?"
                       " AND state IN ('INTENT', 'ALLOCATED', 'RUNNING')",
                       {lease.attachment, lease.id});
}

Result<uint32_t> Ledger::held_addresses(const std::string& parent) {
  Statement statement = TRY(store_->database.prepare(
      "SELECT COUNT(*) FROM address WHERE parent = ? AND free_at IS NULL"));
  TRY(statement.bind(parent).step());
  return static_cast<uint32_t>(statement.integer(0));
}

Result<Ledger::RailUse> Ledger::use_of(const config::RailConfig& rail) {
  return count_use(store_->database, rail, store_->now());
}

Result<int64_t> Ledger::data_version() {
  Statement statement = TRY(store_->database.prepare("PRAGMA data_version"));
  TRY(statement.step());
  return statement.integer(0);
}

void Ledger::settle() {
  store_->database.restart_log("UPDATE meta SET value = value WHERE name = 'compatible_from'");
}

}  // namespace hook::ledger
