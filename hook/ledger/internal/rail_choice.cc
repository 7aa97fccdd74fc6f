// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/internal/rail_choice.h"

#include <algorithm>
#include <limits>

#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/internal/rail_rows.h"
#include "hook/ledger/internal/rail_shortage.h"
#include "hook/ledger/internal/store.h"
#include "netns/session.h"

namespace hook::ledger {
namespace {

using namespace base::names;
using netns::Address;
using netns::LinkKind;
using netns::MacAddress;
using sqlite::Database;
using sqlite::Statement;
using sqlite::Step;

// Returns the first address of RAIL's range that has a row, in the order of REST, which is SQL.
Result<std::optional<Address>> first_row(Database& database, const config::RailConfig& rail,
                                         std::string_view rest) {
  Statement row =
      TRY(database.prepare(str("SELECT address FROM address WHERE ", kInRange, rest, " LIMIT 1")));
  if (TRY(bind_range(row, rail).step()) == Step::kDone) return std::optional<Address>();
  const Address address = TRY(read_address(row, 0));
  return std::optional<Address>(address);
}

// Returns an address that no lease ever had, next to those with rows; rows are never deleted.
Result<std::optional<Address>> find_unused(Database& database, const config::RailConfig& rail) {
  const std::optional<Address> newest = TRY(first_row(database, rail, " ORDER BY address DESC"));
  if (!newest) return std::optional<Address>(rail.first);
  if (*newest < rail.last) return std::optional<Address>(netns::next(*newest));
  const std::optional<Address> oldest = TRY(first_row(database, rail, " ORDER BY address"));
  if (oldest && rail.first < *oldest) return std::optional<Address>(netns::previous(*oldest));
  return std::optional<Address>();
}

// Returns an unused address between two that have rows. There is one if two ranges became one.
Result<std::optional<Address>> find_gap(Database& database, const config::RailConfig& rail) {
  Statement row = TRY(
      database.prepare(str("SELECT address FROM address WHERE ", kInRange, " ORDER BY address")));
  bind_range(row, rail);
  Address expected = rail.first;
  while (TRY(row.step()) == Step::kRow) {
    const Address address = TRY(read_address(row, 0));
    if (address != expected) return std::optional<Address>(expected);
    expected = netns::next(address);
  }
  return std::optional<Address>();
}

Result<MacAddress> choose_mac(Database& database, const Lease& lease, const Address& address) {
  constexpr uint32_t kAttempts = 16;
  for (uint32_t attempt = 0; attempt < kAttempts; ++attempt) {
    const MacAddress mac = mac_of(lease.pool, address, attempt);
    // Interfaces of one namespace are identified, and removed, by their link group.
    const auto same_group = [&](const RailLease& rail) {
      return netns::group_of(rail.mac) == netns::group_of(mac);
    };
    if (std::any_of(lease.rails.begin(), lease.rails.end(), same_group)) continue;
    Statement held =
        TRY(database.prepare("SELECT 1 FROM address WHERE free_at IS NULL AND mac = ?"));
    if (TRY(held.bind(netns::to_string(mac)).step()) == Step::kDone) return mac;
  }
  return Error(Code::kInternal, str("ledger: no MAC is left for ", netns::to_string(address)));
}

Result<HostFunction> choose_function(Database& database, const RailRequest& request) {
  for (const HostFunction& function : request.functions) {
    const std::string holder = TRY(holder_of(database, function));
    if (holder.empty()) return function;
  }
  return no_function_left(database, request);
}

// Returns NAME or, if another interface of LEASE has it, the first free one of roce0, roce1, ...
std::string free_name(const Lease& lease, std::string name) {
  const auto is_taken = [&](const RailLease& rail) { return rail.interface == name; };
  for (size_t i = 0; std::any_of(lease.rails.begin(), lease.rails.end(), is_taken); ++i) {
    name = str("roce", i);
  }
  return name;
}

bool is_of(const RailLease& lease, const config::RailConfig& rail) {
  if (rail.functions.empty())
    return lease.kind == LinkKind::kMacvlan && lease.parent == rail.parent;
  return lease.kind == LinkKind::kFunction && lease.subnet == rail.subnet;
}

// Returns the address that its IPUs give, or one of the range if several leases may have these IPUs
// and another one, of this host or another, has that address.
Result<Address> choose_by_ipu(Database& database, const Lease& lease, const RailRequest& request,
                              int64_t now) {
  const config::RailConfig& rail = request.rail;
  const std::optional<Error> why_not = TRY(why_not_given(database, lease, request, now));
  if (!why_not) return *request.by_ipu;
  if (lease.origin != Origin::kShared) return *why_not;
  if (rail.has_range) return choose_address(database, rail, now);
  return Error(Code::kBusy, str(why_not->message(),
                                ". Other containers of a shared GCD get their addresses from"
                                " 'range': set it in network.rail"));
}

Result<RailLease> choose_rail(Database& database, const Lease& lease, const RailRequest& request,
                              int64_t now) {
  const config::RailConfig& rail = request.rail;
  RailLease chosen;
  chosen.parent = rail.parent;
  chosen.mode = rail.mode;
  chosen.mtu = rail.mtu;
  chosen.interface = free_name(lease, request.interface);
  chosen.subnet = rail.subnet;
  chosen.peers = rail.peers;
  Result<Address> address = request.by_ipu ? choose_by_ipu(database, lease, request, now)
                                           : choose_address(database, rail, now);
  chosen.address = TRY(std::move(address));
  chosen.by_ipu = chosen.address == request.by_ipu;
  if (rail.functions.empty()) {
    chosen.mac = TRY(choose_mac(database, lease, chosen.address));
    return chosen;
  }
  const HostFunction function = TRY(choose_function(database, request));
  chosen.kind = LinkKind::kFunction;
  chosen.parent = function.interface;
  chosen.rdma_device = function.rdma_device;
  chosen.mac = function.mac;
  return chosen;
}

}  // namespace

// Prefers addresses that were never used, then the one that has been free longest: reuse is rare.
Result<Address> choose_address(Database& database, const config::RailConfig& rail, int64_t now) {
  const std::optional<Address> unused = TRY(find_unused(database, rail));
  if (unused) return *unused;
  const std::optional<Address> longest_free = TRY(first_row(
      database, rail,
      str(" AND free_at IS NOT NULL AND NOT ", in_quarantine(now), " ORDER BY free_at, address")));
  if (longest_free) return *longest_free;
  const std::optional<Address> gap = TRY(find_gap(database, rail));
  if (gap) return *gap;
  return no_address_left(database, rail, now);
}

Status reserve_rails(Database& database, Lease& lease, const std::vector<RailRequest>& rails,
                     int64_t now) {
  for (const RailRequest& request : rails) {
    const auto is_there = [&](const RailLease& rail) { return is_of(rail, request.rail); };
    if (std::any_of(lease.rails.begin(), lease.rails.end(), is_there)) continue;
    const RailLease rail = TRY(choose_rail(database, lease, request, now));
    TRY(insert_rail(database, lease, rail));
    lease.rails.push_back(rail);
  }
  return {};
}

namespace {

struct Count {
  uint32_t held = 0;
  uint32_t quarantined = 0;
};

Result<Count> count_in(Database& database, const config::AddressSpan& span, int64_t now) {
  Statement row = TRY(database.prepare(
      str("SELECT COUNT(*) FILTER (WHERE free_at IS NULL), COUNT(*) FILTER (WHERE ",
          in_quarantine(now), ") FROM address WHERE ", kInRange)));
  TRY(bind_range(row, span).step());
  return Count{static_cast<uint32_t>(row.integer(0)), static_cast<uint32_t>(row.integer(1))};
}

}  // namespace

Result<Ledger::RailUse> count_use(Database& database, const config::RailConfig& rail, int64_t now) {
  Ledger::RailUse use;
  if (const std::optional<config::AddressSpan> span = config::span_of(rail)) {
    const Count count = TRY(count_in(database, *span, now));
    use.held_by_ipu = count.held;
    use.set_aside_by_ipu = count.quarantined;
  }
  const std::optional<config::AddressSpan> range = config::range_of(rail);
  if (!range) return use;
  const Count count = TRY(count_in(database, *range, now));
  use.held = count.held;
  use.quarantined = count.quarantined;
  const uint32_t all =
      netns::count_between(range->first, range->last, std::numeric_limits<uint32_t>::max());
  use.free = all - use.held - use.quarantined;
  return use;
}

}  // namespace hook::ledger
