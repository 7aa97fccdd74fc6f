// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/internal/rail_rows.h"

#include <algorithm>
#include <initializer_list>

#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/internal/conditions.h"
#include "hook/ledger/internal/store.h"

namespace hook::ledger {
namespace {

using namespace base::names;
using netns::LinkKind;
using netns::MacvlanMode;
using sqlite::Database;
using sqlite::Statement;
using sqlite::Step;

constexpr int64_t kQuarantineMs = 2000;                 // caches of MACs: at least 1 to 2 s
constexpr int64_t kDuplicateQuarantineMs = 600 * 1000;  // for somebody to look after that host
constexpr std::string_view kAddressColumns =
    "address, lease, kind, parent, rdma_device, mode, mtu, interface, mac, subnet, peers,"
    " duplicate_mac, by_ipu";

std::string_view name_of(LinkKind kind) {
  return kind == LinkKind::kFunction ? "FUNCTION" : "MACVLAN";
}

std::string_view name_of(MacvlanMode mode) {
  return mode == MacvlanMode::kBridge ? "BRIDGE" : "PRIVATE";
}

template <typename Enum>
Result<Enum> parse_enum(const std::string& text, std::initializer_list<Enum> values) {
  for (const Enum value : values) {
    if (text == name_of(value)) return value;
  }
  return Error(Code::kInternal, str("ledger: interface with unknown ", base::quote(text)));
}

std::string to_text(const std::vector<netns::Peer>& peers) {
  std::string text;
  for (const netns::Peer& peer : peers) {
    text += str(text.empty() ? "" : ",", netns::to_string(peer.address), ' ', peer.port);
  }
  return text;
}

Result<std::vector<netns::Peer>> parse_peers(const std::string& text) {
  std::vector<netns::Peer> peers;
  if (text.empty()) return peers;
  for (const std::string_view piece : base::split(text, ',')) {
    const size_t space = piece.find(' ');
    if (space == std::string_view::npos) {
      return Error(Code::kInternal, str("ledger: ", base::quote(piece), " is not a peer"));
    }
    const netns::Address address = TRY(netns::parse_address(piece.substr(0, space)));
    const auto port = TRY(base::parse_int<uint16_t>(piece.substr(space + 1), 0, 65535));
    peers.push_back({address, port});
  }
  return peers;
}

Result<RailLease> read_rail(const Statement& row) {
  RailLease rail;
  rail.address = TRY(read_address(row, 0));
  rail.kind = TRY(parse_enum(row.text(2), {LinkKind::kMacvlan, LinkKind::kFunction}));
  rail.parent = row.text(3);
  rail.rdma_device = row.text(4);
  rail.mode = TRY(parse_enum(row.text(5), {MacvlanMode::kPrivate, MacvlanMode::kBridge}));
  rail.mtu = static_cast<uint32_t>(row.integer(6));
  rail.interface = row.text(7);
  rail.mac = TRY(netns::parse_mac(row.text(8)));
  rail.subnet = TRY(netns::parse_prefix(row.text(9)));
  rail.peers = TRY(parse_peers(row.text(10)));
  rail.by_ipu = row.integer(12) != 0;
  return rail;
}

// The length of the quarantine, as SQL. No other lease of any host has the address that its IPUs
// give, and that address always has the same MAC.
std::string quarantine() {
  return str("CASE WHEN duplicate_mac <> '' THEN ", kDuplicateQuarantineMs,
             " WHEN by_ipu <> 0 THEN 0 ELSE ", kQuarantineMs, " END");
}

}  // namespace

std::string in_quarantine(int64_t now) {
  // An end that is further away than the quarantine is long is from before the clock was set back.
  return str("(free_at > ", now, " AND free_at <= ", now, " + ", quarantine(), ")");
}

Status insert_rail(Database& database, const Lease& lease, const RailLease& rail) {
  // The WHERE is the invariant: an address that is held is never taken over.
  Statement insert = TRY(database.prepare(
      str("INSERT INTO address(", kAddressColumns, ") VALUES(?,?,?,?,?,?,?,?,?,?,?,'',?)",
          " ON CONFLICT(address) DO UPDATE SET lease = excluded.lease, kind = excluded.kind,"
          " parent = excluded.parent, rdma_device = excluded.rdma_device, mode = excluded.mode,"
          " mtu = excluded.mtu, interface = excluded.interface, mac = excluded.mac,"
          " subnet = excluded.subnet, peers = excluded.peers, duplicate_mac = '',"
          " by_ipu = excluded.by_ipu, free_at = NULL"
          " WHERE address.free_at IS NOT NULL")));
  bind_address(insert, rail.address);
  insert.bind(lease.attachment).bind(name_of(rail.kind)).bind(rail.parent).bind(rail.rdma_device);
  insert.bind(name_of(rail.mode)).bind(int64_t{rail.mtu}).bind(rail.interface);
  insert.bind(netns::to_string(rail.mac)).bind(netns::to_string(rail.subnet));
  insert.bind(to_text(rail.peers)).bind(int64_t{rail.by_ipu});
  TRY(insert.run());
  if (database.changes() == 1) return {};
  return Error(Code::kExists, str("ledger: address ", netns::to_string(rail.address), " is held"));
}

Status load_rails(Database& database, Lease& lease) {
  lease.rails.clear();
  Statement row = TRY(database.prepare(str("SELECT ", kAddressColumns,
                                           " FROM address WHERE lease = ? AND free_at IS NULL",
                                           " ORDER BY length(interface), interface")));
  row.bind(lease.attachment);
  while (TRY(row.step()) == Step::kRow) {
    lease.rails.push_back(TRY(read_rail(row)));
  }
  return {};
}

Result<int64_t> free_rails(Database& database, const Lease& lease, int64_t now) {
  Statement update = TRY(database.prepare(
      str("UPDATE address SET free_at = ", now, " + ", quarantine(),
          " WHERE lease = ?1 AND free_at IS NULL AND NOT EXISTS (SELECT 1 FROM lease"
          " WHERE attachment = ?1 AND id <> ?2 AND " LEASE_IS_LIVE ") RETURNING free_at")));
  update.bind(lease.attachment).bind(lease.id);
  int64_t end = 0;
  while (TRY(update.step()) == Step::kRow) end = std::max(end, update.integer(0));
  return end;
}

Status mark_duplicate(Database& database, const Lease& lease, const RailLease& rail,
                      const netns::MacAddress& mac) {
  Statement update = TRY(database.prepare(
      "UPDATE address SET duplicate_mac = ? WHERE lease = ? AND free_at IS NULL AND address = ?"));
  update.bind(netns::to_string(mac)).bind(lease.attachment);
  bind_address(update, rail.address);
  TRY(update.run());
  if (database.changes() == 1) return {};
  return Error(Code::kBusy, str("address ", netns::to_string(rail.address),
                                " is no longer held by lease ", lease.id));
}

}  // namespace hook::ledger
