// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/internal/rail_shortage.h"

#include <algorithm>
#include <vector>

#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/internal/conditions.h"
#include "hook/ledger/internal/rail_rows.h"
#include "hook/ledger/internal/store.h"

namespace hook::ledger {
namespace {

using namespace base::names;
using sqlite::Database;
using sqlite::Statement;
using sqlite::Step;

// SQL: the first container that has the interface in a row of `address`.
constexpr std::string_view kHolder =
    "COALESCE((SELECT substr(container, 1, 12) FROM lease WHERE attachment = address.lease"
    " AND " LEASE_IS_LIVE " ORDER BY created_ms, id LIMIT 1), '?')";

// Returns the first three of NAMES and the number of the others.
std::string first_of(std::vector<std::string> names) {
  constexpr size_t kShown = 3;
  if (names.size() <= kShown) return base::join(names, ", ");
  const size_t more = names.size() - kShown;
  names.resize(kShown);
  return str(base::join(names, ", "), " and ", more, " more");
}

// The part of a rail's range that cannot be given now.
struct Taken {
  std::vector<std::string> holders;     // containers
  uint32_t quarantined = 0;             // addresses, for the usual time
  std::vector<std::string> duplicates;  // addresses, with the other host's MAC
};

Result<Taken> find_taken(Database& database, const config::RailConfig& rail, int64_t now) {
  Taken taken;
  Statement row = TRY(database.prepare(
      str("SELECT address, free_at IS NULL, duplicate_mac, ", kHolder, " FROM address WHERE ",
          kInRange, " AND (free_at IS NULL OR ", in_quarantine(now), ") ORDER BY address")));
  bind_range(row, rail);
  while (TRY(row.step()) == Step::kRow) {
    const netns::Address address = TRY(read_address(row, 0));
    if (row.integer(1) != 0) {
      taken.holders.push_back(row.text(3));
    } else if (row.text(2).empty()) {
      ++taken.quarantined;
    } else {
      taken.duplicates.push_back(str(netns::to_string(address), " by MAC ", row.text(2)));
    }
  }
  return taken;
}

}  // namespace

Statement& bind_range(Statement& statement, const config::AddressSpan& range) {
  return statement.bind(range.first.raw()).bind(range.last.raw());
}

Statement& bind_range(Statement& statement, const config::RailConfig& rail) {
  return bind_range(statement, config::AddressSpan{rail.first, rail.last});
}

Result<std::optional<Error>> why_not_given(Database& database, const Lease& lease,
                                           const RailRequest& request, int64_t now) {
  using Why = std::optional<Error>;
  const netns::Address& address = *request.by_ipu;
  const std::string what =
      str("address ", netns::to_string(address), " of rail '", name_of(request.rail),
          "', which follows from the IPUs of partition ", base::quote(lease.partition), ", is ");
  if (!request.by_ipu_holder.empty()) {
    return Why(Error(Code::kBusy, str(what, "held in the fleet by ", request.by_ipu_holder,
                                      "; see 'ipuctl partition show ", lease.partition, "'")));
  }
  Statement row = TRY(database.prepare(
      str("SELECT free_at IS NULL, duplicate_mac, free_at, ", kHolder,
          " FROM address WHERE address = ? AND (free_at IS NULL OR duplicate_mac <> '' AND ",
          in_quarantine(now), ")")));
  bind_address(row, address);
  if (TRY(row.step()) == Step::kDone) return Why();
  if (row.integer(0) != 0) {
    return Why(
        Error(Code::kExists, str(what, "held by container ", row.text(3), "; see 'ipuctl ps'")));
  }
  return Why(
      Error(Code::kDenied,
            str(what, "set aside until ", base::rfc3339(row.integer(2)),
                ", because another host answered for it with MAC ", row.text(1),
                "; look for a host with another 'base' or 'machines' of network.rail, or with"
                " this address")));
}

Error no_address_left(Database& database, const config::RailConfig& rail, int64_t now) {
  const Result<Taken> found = find_taken(database, rail, now);
  if (!found.ok()) return found.error();
  const Taken& taken = found.value();
  std::vector<std::string> parts;
  const size_t held = taken.holders.size();
  if (held > 0) parts.push_back(str(held, " by containers (", first_of(taken.holders), ")"));
  if (taken.quarantined > 0) parts.push_back(str(taken.quarantined, " in quarantine"));
  if (!taken.duplicates.empty()) {
    parts.push_back(str(taken.duplicates.size(),
                        " set aside, because another host answers for it (",
                        first_of(taken.duplicates), ")"));
  }
  return {Code::kBusy,
          str("all ", held + taken.quarantined + taken.duplicates.size(), " addresses of rail '",
              name_of(rail), "' (", netns::to_string(rail.first), "-", netns::to_string(rail.last),
              ") are taken: ", base::join(parts, ", "),
              "; see 'ipuctl ps', or give network.rail a larger range")};
}

Result<std::string> holder_of(Database& database, const HostFunction& function) {
  Statement row = TRY(database.prepare(str("SELECT ", kHolder,
                                           " FROM address WHERE free_at IS NULL AND parent = ? AND",
                                           " kind = 'FUNCTION' UNION ALL SELECT ", kHolder,
                                           " FROM address WHERE free_at IS NULL AND mac = ?")));
  row.bind(function.interface).bind(netns::to_string(function.mac));
  if (TRY(row.step()) == Step::kDone) return std::string();
  return row.text(0);
}

Error no_function_left(Database& database, const RailRequest& request) {
  const std::vector<std::string>& functions = request.rail.functions;
  std::vector<std::string> held;
  std::vector<std::string> absent;
  for (const std::string& name : functions) {
    const auto there =
        std::find_if(request.functions.begin(), request.functions.end(),
                     [&](const HostFunction& function) { return function.interface == name; });
    const Result<std::string> holder =
        holder_of(database, there == request.functions.end() ? HostFunction{name, {}, {}} : *there);
    if (!holder.ok()) return holder.error();
    if (holder.value().empty()) {
      absent.push_back(name);
    } else {
      held.push_back(str(name, " by container ", holder.value()));
    }
  }
  std::string text = str("all ", functions.size(), " functions of rail '", name_of(request.rail),
                         absent.empty() ? "' are held: " : "' are held or absent: ");
  text += first_of(held);
  if (!held.empty() && !absent.empty()) text += "; ";
  if (!absent.empty()) text += str("not on this host: ", first_of(absent));
  return {Code::kBusy, text + "; see 'ipuctl ps'"};
}

}  // namespace hook::ledger
