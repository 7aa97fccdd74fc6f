// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/internal/rows.h"

#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/actor.h"
#include "hook/ledger/internal/conditions.h"
#include "hook/ledger/internal/rail_rows.h"
#include "hook/ledger/internal/store.h"

namespace hook::ledger {
namespace {

using namespace base::names;
using sqlite::Database;
using sqlite::Statement;
using sqlite::Step;

constexpr std::string_view kLeaseColumns =
    "id, container, bundle, tenant, pool, controller, partition, ipus, created_ms,"
    " state, generation, owner_pid, owner_start, boot_id, netns_device, netns_inode,"
    " netns_cookie, netns_id, prohibited, error, obstacle, changed_ms, owner_pid_namespace,"
    " host_netns_cookie, attachment, state_dir, cgroup, attempts, retry_ms, quarantine_until_ms,"
    " gcd, gcds, origin, claim, fleet";
// Live, and not being released.
constexpr std::string_view kHolding = "state IN ('INTENT', 'ALLOCATED', 'RUNNING')";

Result<LeaseState> parse_state(const std::string& text) {
  return parse_name("lease state", text,
                    {LeaseState::kIntent, LeaseState::kAllocated, LeaseState::kRunning,
                     LeaseState::kReleasing, LeaseState::kFree, LeaseState::kFailed});
}

Result<Origin> parse_origin(const std::string& text) {
  return parse_name(
      "origin", text,
      {Origin::kOwn, Origin::kNamed, Origin::kShared, Origin::kForeign, Origin::kJoined});
}

std::string to_text(const std::vector<netns::Prefix>& prefixes) {
  std::string text;
  for (const netns::Prefix& prefix : prefixes) {
    text += str(text.empty() ? "" : ",", netns::to_string(prefix));
  }
  return text;
}

Result<std::vector<netns::Prefix>> parse_prefixes(const std::string& text) {
  std::vector<netns::Prefix> prefixes;
  if (text.empty()) return prefixes;
  for (const std::string_view piece : base::split(text, ',')) {
    prefixes.push_back(TRY(netns::parse_prefix(piece)));
  }
  return prefixes;
}

// SQLite's integers are signed, identities are not; the bits are kept.
int64_t as_signed(uint64_t value) { return static_cast<int64_t>(value); }
uint64_t as_unsigned(int64_t value) { return static_cast<uint64_t>(value); }

// The clock alone ends a quarantine, so the database has no state for it.
std::string_view stored_name(LeaseState state) {
  return name_of(state == LeaseState::kQuarantine ? LeaseState::kFree : state);
}

// Binds the columns that change: those from `state` on, in the order of kLeaseColumns.
void bind_changing(Statement& statement, const Lease& lease) {
  statement.bind(stored_name(lease.state))
      .bind(lease.generation)
      .bind(int64_t{lease.owner.pid})
      .bind(as_signed(lease.owner.start_time))
      .bind(lease.boot_id)
      .bind(as_signed(lease.netns.device))
      .bind(as_signed(lease.netns.inode))
      .bind(as_signed(lease.netns.cookie))
      .bind(int64_t{lease.netns_id})
      .bind(to_text(lease.prohibited))
      .bind(lease.error)
      .bind(lease.obstacle)
      .bind(lease.changed_ms)
      .bind(as_signed(lease.owner.pid_namespace))
      .bind(as_signed(lease.host_netns_cookie))
      .bind(lease.attachment)
      .bind(lease.state_dir)
      .bind(lease.cgroup)
      .bind(int64_t{lease.attempts})
      .bind(lease.retry_ms)
      .bind(lease.quarantine_until_ms);
}

Result<Lease> read_lease(const Statement& row) {
  Lease lease;
  lease.id = row.text(0);
  lease.container = row.text(1);
  lease.bundle = row.text(2);
  lease.tenant = row.text(3);
  lease.pool = row.text(4);
  lease.controller = row.text(5);
  lease.partition = row.text(6);
  lease.ipus = static_cast<uint32_t>(row.integer(7));
  lease.created_ms = row.integer(8);
  lease.state = TRY(parse_state(row.text(9)));
  lease.generation = row.integer(10);
  lease.owner = {static_cast<pid_t>(row.integer(11)), as_unsigned(row.integer(12)),
                 as_unsigned(row.integer(22))};
  lease.boot_id = row.text(13);
  lease.netns = {as_unsigned(row.integer(14)), as_unsigned(row.integer(15)),
                 as_unsigned(row.integer(16))};
  lease.netns_id = static_cast<int32_t>(row.integer(17));
  lease.prohibited = TRY(parse_prefixes(row.text(18)));
  lease.error = row.text(19);
  lease.obstacle = row.text(20);
  lease.changed_ms = row.integer(21);
  lease.host_netns_cookie = as_unsigned(row.integer(23));
  lease.attachment = row.text(24);
  lease.state_dir = row.text(25);
  lease.cgroup = row.text(26);
  lease.attempts = static_cast<uint32_t>(row.integer(27));
  lease.retry_ms = row.integer(28);
  lease.quarantine_until_ms = row.integer(29);
  lease.gcd = static_cast<uint32_t>(row.integer(30));
  lease.gcds = std::max(1U, static_cast<uint32_t>(row.integer(31)));
  lease.origin = TRY(parse_origin(row.text(32)));
  lease.claim = row.text(33);
  lease.fleet = row.text(34);
  lease.has_endpoint = row.integer(35) != 0;
  return lease;
}

// A container's filter lets it reach ports, not devices. So no two leases have one port, even if
// the controller says that it leads to different devices. Cards have no ports.
Status check_ports(Database& database, const Lease& lease, const LeasedIpu& ipu) {
  Statement other = TRY(database.prepare(
      "SELECT ipu.lease FROM ipu JOIN lease ON lease.id = ipu.lease"
      " WHERE address = ?1 AND ipu.lease <> ?2"
      " AND (NULLIF(server_port, 0) IN (?3, ?4) OR NULLIF(rdma_port, 0) IN (?3, ?4))"
      " AND NOT (?5 AND ipu.shared AND ipu.pool = ?6 AND lease.partition = ?7) LIMIT 1"));
  bind_address(other, ipu.address);
  other.bind(lease.id).bind(int64_t{ipu.server_port}).bind(int64_t{ipu.rdma_port});
  other.bind(int64_t{lease.origin == Origin::kShared}).bind(lease.pool).bind(lease.partition);
  if (TRY(other.step()) == Step::kDone) return {};
  return Error(Code::kExists, str("ledger: a port of the IPU is lease ", other.text(0), "'s"));
}

Status insert_ipu(Database& database, const Lease& lease, const LeasedIpu& ipu) {
  TRY(check_ports(database, lease, ipu));
  // The index refuses two leases that do not share. This statement refuses a sharing lease beside
  // one that does not share, and two that share different partitions. A card, which has no ports,
  // is the same in whatever pool: check_ports() cannot tell.
  Statement insert = TRY(database.prepare(
      "INSERT INTO ipu(pool, address, device, server_port, rdma_port, lease, shared)"
      " SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE NOT EXISTS (SELECT 1 FROM ipu JOIN lease ON"
      " lease.id = ipu.lease WHERE address = ?2 AND device = ?3"
      " AND (ipu.pool = ?1 OR ?4 + ?5 + server_port + rdma_port = 0)"
      " AND NOT (?7 AND ipu.shared AND lease.partition = ?8))"));
  insert.bind(lease.pool);
  bind_address(insert, ipu.address);
  insert.bind(int64_t{ipu.device});
  insert.bind(int64_t{ipu.server_port}).bind(int64_t{ipu.rdma_port}).bind(lease.id);
  insert.bind(int64_t{lease.origin == Origin::kShared}).bind(lease.partition);
  TRY(insert.run());
  if (database.changes() == 1) return {};
  return Error(Code::kExists, "ledger: the IPU is held");
}

}  // namespace

Status insert_lease(Database& database, const Lease& lease) {
  Statement insert = TRY(database.prepare(
      str("INSERT INTO lease(", kLeaseColumns,
          ", user, asked_ms) "
          "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")));
  insert.bind(lease.id).bind(lease.container).bind(lease.bundle).bind(lease.tenant);
  insert.bind(lease.pool).bind(lease.controller).bind(lease.partition);
  insert.bind(int64_t{lease.ipus}).bind(lease.created_ms);
  bind_changing(insert, lease);
  insert.bind(int64_t{lease.gcd}).bind(int64_t{lease.gcds});
  insert.bind(name_of(lease.origin)).bind(lease.claim).bind(lease.fleet);
  return insert.bind(user_who_logged_in()).bind(lease.asked_ms).run();
}

Status update_lease(Database& database, const Lease& lease) {
  Statement update = TRY(database.prepare(
      "UPDATE lease SET state=?, generation=?, owner_pid=?, owner_start=?, boot_id=?,"
      " netns_device=?, netns_inode=?, netns_cookie=?, netns_id=?, prohibited=?, error=?,"
      " obstacle=?, changed_ms=?, owner_pid_namespace=?, host_netns_cookie=?, attachment=?,"
      " state_dir=?, cgroup=?, attempts=?, retry_ms=?, quarantine_until_ms=?,"
      " partition=?, ipus=?, allocated_ms = IIF(?1 = 'ALLOCATED' AND allocated_ms = 0, ?13,"
      " allocated_ms) WHERE id = ?24"));
  bind_changing(update, lease);
  update.bind(lease.partition).bind(int64_t{lease.ipus});
  return update.bind(lease.id).run();
}

Status insert_ipus(Database& database, const Lease& lease) {
  for (const LeasedIpu& ipu : lease.devices) {
    const bool is_card = ipu.server_port == 0 && ipu.rdma_port == 0;
    const std::string of = is_card ? "" : str(" of ", netns::to_string(ipu.address));
    TRY_CTX(str("the controller granted ", is_card ? "card " : "IPU ", ipu.device, of,
                ", which another container holds"),
            insert_ipu(database, lease, ipu));
  }
  return {};
}

Status mark_used(Database& database, const Lease& lease) {
  Statement update =
      TRY(database.prepare("UPDATE partition SET dirty = 1 WHERE pool = ? AND name = ?"));
  return update.bind(lease.pool).bind(lease.partition).run();
}

Status forget_endpoint(Database& database, const std::string& lease_id) {
  Statement remove = TRY(database.prepare("DELETE FROM endpoint WHERE lease = ?"));
  return remove.bind(lease_id).run();
}

Status forget_resetter(Database& database, const Lease& lease) {
  Statement update = TRY(database.prepare("UPDATE partition SET resetter = '' WHERE resetter = ?"));
  return update.bind(lease.id).run();
}

Status delete_ipus(Database& database, const std::string& lease_id) {
  Statement remove = TRY(database.prepare("DELETE FROM ipu WHERE lease = ?"));
  return remove.bind(lease_id).run();
}

Status pass_partition(Database& database, const Lease& from, const Lease& to) {
  // This order matters: the database refuses two holders of a partition at a time.
  const struct {
    const char* sql;
    std::string_view value;
    const std::string& lease;
  } changes[] = {
      {"UPDATE lease SET origin = ? WHERE id = ?", name_of(Origin::kJoined), from.id},
      {"UPDATE lease SET origin = ? WHERE id = ?", name_of(from.origin), to.id},
      {"UPDATE lease SET claim = ? WHERE id = ?", from.claim, to.id},
      {"UPDATE lease SET fleet = ? WHERE id = ?", from.fleet, to.id},
      {"UPDATE lease SET claim = ? WHERE id = ?", "", from.id},
      {"UPDATE ipu SET lease = ? WHERE lease = ?", to.id, from.id},
  };
  for (const auto& change : changes) {
    Statement update = TRY(database.prepare(change.sql));
    TRY(update.bind(change.value).bind(change.lease).run());
  }
  return {};
}

Status load_ipus(Database& database, Lease& lease) {
  lease.devices.clear();
  const bool joined = lease.origin == Origin::kJoined;
  if (joined && lease.state == LeaseState::kReleasing) return {};  // it no longer holds any
  std::string holder = lease.id;
  if (joined) {
    Statement find = TRY(database.prepare(
        str("SELECT id FROM lease WHERE pool = ? AND partition = ? AND gcd = ? AND gcds = ?"
            " AND origin <> 'JOINED' AND ",
            kHolding, " AND EXISTS (SELECT 1 FROM ipu WHERE ipu.lease = lease.id) LIMIT 1")));
    find.bind(lease.pool).bind(lease.partition).bind(int64_t{lease.gcd});
    TRY(find.bind(int64_t{lease.gcds}).step());
    holder = find.text(0);
  }
  Statement row =
      TRY(database.prepare("SELECT address, device, server_port, rdma_port FROM ipu WHERE lease = ?"
                           " ORDER BY address, device"));
  row.bind(holder);
  while (TRY(row.step()) == Step::kRow) {
    const netns::Address address = TRY(read_address(row, 0));
    lease.devices.push_back({address, static_cast<uint32_t>(row.integer(1)),
                             static_cast<uint16_t>(row.integer(2)),
                             static_cast<uint16_t>(row.integer(3))});
  }
  return {};
}

Result<std::vector<Lease>> select_leases(Database& database, std::string_view condition,
                                         std::initializer_list<std::string_view> parameters) {
  std::vector<Lease> leases;
  // One read transaction, so that the parts match the lease.
  Statement begin = TRY(database.prepare("SAVEPOINT read_leases"));
  TRY(begin.run());
  const auto read = [&]() -> Status {
    Statement row = TRY(database.prepare(
        str("SELECT ", kLeaseColumns,
            ", EXISTS (SELECT 1 FROM endpoint WHERE endpoint.lease = lease.id) FROM lease WHERE ",
            condition, " ORDER BY created_ms, id")));
    for (const std::string_view parameter : parameters) row.bind(parameter);
    while (TRY(row.step()) == Step::kRow) {
      leases.push_back(TRY(read_lease(row)));
      if (!is_live(leases.back().state)) continue;
      TRY(load_rails(database, leases.back()));
      TRY(load_ipus(database, leases.back()));
    }
    return {};
  };
  const Status done = read();
  Statement end = TRY(database.prepare("RELEASE read_leases"));
  TRY(end.run());
  if (!done.ok()) return done.error();
  return leases;
}

Result<std::vector<LeaseHold>> select_holds(Database& database) {
  std::vector<LeaseHold> holds;
  Statement row = TRY(database.prepare(
      "SELECT owner_pid, owner_start, owner_pid_namespace, id, state, boot_id, retry_ms FROM lease"
      " WHERE " LEASE_IS_LIVE " ORDER BY created_ms, id"));
  while (TRY(row.step()) == Step::kRow) {
    const LeaseState state = TRY(parse_state(row.text(4)));
    holds.push_back({row.text(3), state, read_process(row, 0), row.text(5), row.integer(6)});
  }
  return holds;
}

Result<std::vector<Lease>> select_attached(Database& database, const netns::Identity& netns,
                                           const std::string& boot_id) {
  if (netns == netns::Identity()) return std::vector<Lease>();
  const std::string condition =
      str("state IN ('ALLOCATED', 'RUNNING') AND attachment <> '' AND boot_id = ?",
          " AND netns_cookie = ", as_signed(netns.cookie),
          " AND netns_inode = ", as_signed(netns.inode),
          " AND netns_device = ", as_signed(netns.device));
  return select_leases(database, condition, {boot_id});
}

Result<std::vector<Lease>> select_joined(Database& database, const Lease& lease) {
  const std::string condition =
      str("pool = ? AND partition = ? AND origin = 'JOINED' AND gcd = ", lease.gcd,
          " AND gcds = ", lease.gcds, " AND ", kHolding);
  return select_leases(database, condition, {lease.pool, lease.partition});
}

}  // namespace hook::ledger
