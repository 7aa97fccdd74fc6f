// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/ledger.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <iterator>

#include "base/clock.h"
#include "base/fs.h"
#include "base/text.h"
#include "hook/ledger/rows.h"
#include "hook/ledger/schema.h"

namespace hook {
namespace {

using base::Code;
using base::Error;
using base::Result;
using base::Status;
using base::str;
using sqlite::Statement;
using sqlite::Step;
using sqlite::Transaction;

constexpr int kBusyMs = 5000;            // the longest wait for another writer
constexpr int64_t kQuarantineMs = 2000;  // network.md section 8.3: at least 1 to 2 s
constexpr int64_t kHistoryMs = int64_t{7} * 24 * 3600 * 1000;

std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// Whether LEASE is in one of these STATES. That it still is when the change is written, its
// generation tells.
Status expect(const Lease& lease, std::initializer_list<LeaseState> states) {
  if (std::find(states.begin(), states.end(), lease.state) != states.end()) return {};
  return Error(Code::kInternal, str("lease ", lease.id, " is ", name_of(lease.state),
                                    ", from which this change is not possible"));
}

// Processes that change a new database at the same time do not wait for each other here: to SQLite
// that is a deadlock, and all but one get SQLITE_BUSY at once.
Status use_wal(sqlite::Database& database) {
  const auto patience = base::Deadline::after(std::chrono::milliseconds(kBusyMs));
  for (;;) {
    Status changed = database.execute("PRAGMA journal_mode=WAL");
    if (changed.ok() || changed.error().code() != Code::kBusy || patience.passed()) return changed;
    base::sleep_for(std::chrono::milliseconds(1), patience);
  }
}

}  // namespace

Result<Ledger> Ledger::open(const std::string& path, WallClock now) {
  TRY_CTX("ledger", base::ensure_dir(directory_of(path), 0700));
  sqlite::Database database = TRY(sqlite::Database::open(path, kBusyMs));
  Ledger ledger(std::make_unique<Store>(Store{std::move(database), std::move(now)}));
  // One sync a commit: the write-ahead log stays when the last process closes it, and is not copied
  // into the database then.
  TRY(use_wal(ledger.store_->database));
  TRY(ledger.store_->database.execute("PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=250;"));
  int persist = 1;
  (void)sqlite3_file_control(ledger.store_->database.handle(), "main", SQLITE_FCNTL_PERSIST_WAL,
                             &persist);
  (void)sqlite3_db_config(ledger.store_->database.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
                          nullptr);
  TRY(ledger.migrate());
  return ledger;
}

Status Ledger::migrate() {
  constexpr auto kNewest = static_cast<int64_t>(std::size(kMigrations));
  const auto version = [&]() -> Result<int64_t> {
    Statement statement = TRY(store_->database.prepare("PRAGMA user_version"));
    TRY(statement.step());
    return statement.integer(0);
  };
  const int64_t seen = TRY(version());
  if (seen > kNewest) {
    return Error(Code::kUnsupported,
                 str("ledger: written by a newer version of ipu-container-toolkit (schema ", seen,
                     ", this one knows ", kNewest, "); install that version again"));
  }
  if (seen == kNewest) return {};
  Transaction transaction = TRY(Transaction::begin(store_->database));
  const int64_t now = TRY(version());  // another process may have been first
  for (int64_t step = now; step < kNewest; ++step) TRY(store_->database.execute(kMigrations[step]));
  TRY(store_->database.execute(str("PRAGMA user_version = ", kNewest).c_str()));
  return transaction.commit();
}

Result<Lease> Ledger::acquire(const Intent& intent) {
  Lease lease;
  lease.id = TRY(base::random_hex(16));
  lease.container = intent.container;
  lease.bundle = intent.bundle;
  lease.tenant = intent.tenant;
  lease.pool = intent.pool.name;
  lease.controller = source_of(intent.pool);
  lease.owner = intent.owner;
  lease.boot_id = TRY(base::boot_id());
  lease.created_ms = lease.changed_ms = store_->now();

  Transaction transaction = TRY(Transaction::begin(store_->database));
  TRY(forget_history(lease.changed_ms - kHistoryMs));
  TRY(choose_partition(intent, lease));
  const Status inserted = insert_lease(store_->database, lease);
  if (!inserted.ok() && inserted.error().code() == Code::kExists) return taken(lease);
  TRY(inserted);
  for (const RailConfig& rail : intent.rails) {
    lease.rails.push_back(TRY(reserve_address(lease, rail)));
  }
  TRY(insert_event(store_->database, lease, "INTENT"));
  TRY(transaction.commit());
  return lease;
}

Status Ledger::choose_partition(const Intent& intent, Lease& lease) {
  if (!intent.named) {
    lease.partition = partition_name(lease.id);
    lease.ipus = intent.ipus;
    return {};
  }
  const std::string name = base::quote(intent.named->name);
  const std::optional<PartitionRecord> record =
      TRY(partitions().find(intent.pool.name, intent.named->name));
  if (!record || record->kind != PartitionKind::kNamed || record->state != PartitionState::kReady) {
    return Error(Code::kNotFound, str("pool '", intent.pool.name, "' has no partition ", name,
                                      " that was made ahead on this host; make one with 'ipuctl"
                                      " partition create'"));
  }
  if (!intent.named->gcd && record->gcds > 1) {
    return Error(Code::kInvalid, str("partition ", name, " has ", record->gcds,
                                     " GCDs; say which one with IPU_GCD=0 to ", record->gcds - 1));
  }
  lease.gcd = intent.named->gcd.value_or(0);
  if (lease.gcd >= record->gcds) {
    return Error(Code::kInvalid, str("partition ", name, " has no GCD ", lease.gcd, ": it has ",
                                     record->gcds, ", numbered from 0"));
  }
  lease.partition = record->name;
  lease.controller = record->source;
  lease.origin = record->shared ? Origin::kShared : Origin::kNamed;
  lease.ipus = record->ipus / record->gcds;
  return {};
}

// Who has what LEASE wanted.
Error Ledger::taken(const Lease& lease) {
  std::string holder = "another lease";
  const Result<std::vector<Lease>> holders = partitions().holders(lease.pool, lease.partition);
  for (const Lease& other : holders.ok() ? holders.value() : std::vector<Lease>()) {
    if (other.gcd == lease.gcd) holder = str("container ", other.container.substr(0, 12));
  }
  return {Code::kBusy, str("GCD ", lease.gcd, " of partition ", base::quote(lease.partition),
                           " is in use by ", holder, "; see 'ipuctl ps'")};
}

Result<Ledger::Taken> Ledger::take_warm(Lease& lease) {
  TRY(expect(lease, {LeaseState::kIntent}));
  Transaction transaction = TRY(Transaction::begin(store_->database));
  Statement warm = TRY(store_->database.prepare(
      "DELETE FROM partition WHERE pool = ?1 AND name = (SELECT name FROM partition WHERE pool = ?1"
      " AND source = ?2 AND kind = 'WARM' AND state = 'READY' AND ipus = ?3"
      " ORDER BY created_ms, name LIMIT 1) RETURNING name"));
  warm.bind(lease.pool).bind(lease.controller).bind(int64_t{lease.ipus});
  if (TRY(warm.step()) == Step::kDone) return Taken::kNone;
  Lease after = lease;
  after.partition = warm.text(0);
  TRY(warm.run());
  const std::string event = str("took the warm partition ", after.partition);
  TRY(commit(transaction, lease, std::move(after), event));
  return Taken::kYes;
}

Result<int64_t> Ledger::data_version() {
  Statement statement = TRY(store_->database.prepare("PRAGMA data_version"));
  TRY(statement.step());
  return statement.integer(0);
}

// Never-used addresses first, then the one that has been free for longest: reuse is rare. The
// addresses in the table are one run without gaps, because rows are never deleted.
Result<netns::Ipv4> Ledger::choose_address(const RailConfig& rail) {
  Statement used = TRY(store_->database.prepare(
      "SELECT MIN(address), MAX(address), COUNT(*), COUNT(free_at) FROM address"
      " WHERE address BETWEEN ? AND ?"));
  TRY(used.bind(int64_t{rail.first.value}).bind(int64_t{rail.last.value}).step());
  if (used.integer(2) == 0) return rail.first;
  if (used.integer(1) < int64_t{rail.last.value}) {
    return netns::Ipv4{static_cast<uint32_t>(used.integer(1) + 1)};
  }
  if (used.integer(0) > int64_t{rail.first.value}) {
    return netns::Ipv4{static_cast<uint32_t>(used.integer(0) - 1)};
  }
  Statement oldest = TRY(store_->database.prepare(
      "SELECT address FROM address WHERE address BETWEEN ? AND ?"
      " AND (free_at <= ?3 OR free_at > ?3 + ?4) ORDER BY free_at LIMIT 1"));
  // The end of a quarantine that is further away than its length is from before the clock was set
  // back.
  oldest.bind(int64_t{rail.first.value}).bind(int64_t{rail.last.value});
  oldest.bind(store_->now()).bind(kQuarantineMs);
  if (TRY(oldest.step()) == Step::kRow)
    return netns::Ipv4{static_cast<uint32_t>(oldest.integer(0))};
  return Error(Code::kBusy,
               str("all ", used.integer(2), " addresses of rail '", rail.parent, "' (",
                   netns::to_string(rail.first), "-", netns::to_string(rail.last), ") are taken: ",
                   used.integer(2) - used.integer(3), " by containers, ", used.integer(3),
                   " in quarantine; see 'ipuctl ps', or give network.rail a larger range"));
}

Result<RailLease> Ledger::reserve_address(const Lease& lease, const RailConfig& rail) {
  RailLease reserved{rail.parent, str("roce", lease.rails.size()), {}, {}};
  reserved.address = TRY(choose_address(rail));
  reserved.mac = mac_of(lease.pool, reserved.address);
  // The WHERE is the invariant: an address that a live lease holds is never taken over.
  Statement insert = TRY(store_->database.prepare(
      "INSERT INTO address(address, mac, lease, parent, interface, free_at)"
      " VALUES(?, ?, ?, ?, ?, NULL) ON CONFLICT(address) DO UPDATE SET mac = excluded.mac,"
      " lease = excluded.lease, parent = excluded.parent, interface = excluded.interface,"
      " free_at = NULL WHERE address.free_at IS NOT NULL"));
  insert.bind(int64_t{reserved.address.value}).bind(netns::to_string(reserved.mac));
  TRY(insert.bind(lease.id).bind(reserved.parent).bind(reserved.interface).run());
  if (store_->database.changes() != 1) {
    return Error(Code::kExists, str("ledger: address ", netns::to_string(reserved.address),
                                    " is held by another lease"));
  }
  return reserved;
}

Status Ledger::commit(Transaction& transaction, Lease& lease, Lease after, std::string_view event) {
  after.generation = lease.generation + 1;
  after.changed_ms = store_->now();
  TRY(update_lease(store_->database, after, lease.generation));
  if (store_->database.changes() != 1) {
    return Error(Code::kBusy, str("lease ", lease.id, " was changed by another process"));
  }
  TRY(insert_event(store_->database, after, event));
  TRY(transaction.commit());
  lease = std::move(after);
  return {};
}

Status Ledger::allocated(Lease& lease, std::vector<LeasedIpu> devices,
                         std::vector<netns::Ipv4Prefix> prohibited) {
  TRY(expect(lease, {LeaseState::kIntent}));
  Transaction transaction = TRY(Transaction::begin(store_->database));
  Lease after = lease;
  after.state = LeaseState::kAllocated;
  after.devices = std::move(devices);
  after.ipus = static_cast<uint32_t>(after.devices.size());
  after.prohibited = std::move(prohibited);
  for (const LeasedIpu& ipu : after.devices) {
    TRY_CTX(str("the controller granted IPU ", ipu.device, " of ", netns::to_string(ipu.address),
                ", which another container holds"),
            insert_ipu(store_->database, after, ipu));
  }
  TRY(mark_used(store_->database, after));
  return commit(transaction, lease, std::move(after), "ALLOCATED");
}

Status Ledger::attaching(Lease& lease, const base::ProcessId& owner,
                         const AttachedNamespace& netns) {
  TRY(expect(lease, {LeaseState::kAllocated}));
  Transaction transaction = TRY(Transaction::begin(store_->database));
  Lease after = lease;
  after.owner = owner;
  after.netns = netns.identity;
  after.netns_id = netns.id;
  after.host_netns_cookie = netns.host_cookie;
  return commit(transaction, lease, std::move(after), str("attaching, as process ", owner.pid));
}

Status Ledger::running(Lease& lease, const base::ProcessId& init) {
  TRY(expect(lease, {LeaseState::kAllocated}));
  Transaction transaction = TRY(Transaction::begin(store_->database));
  Lease after = lease;
  after.state = LeaseState::kRunning;
  after.owner = init;
  return commit(transaction, lease, std::move(after), str("RUNNING, as process ", init.pid));
}

Status Ledger::releasing(Lease& lease, const base::ProcessId& owner, const std::string& error) {
  TRY(expect(lease, {LeaseState::kIntent, LeaseState::kAllocated, LeaseState::kRunning,
                     LeaseState::kReleasing}));
  Transaction transaction = TRY(Transaction::begin(store_->database));
  Lease after = lease;
  after.state = LeaseState::kReleasing;
  after.owner = owner;
  if (after.error.empty()) after.error = error;
  return commit(transaction, lease, std::move(after),
                error.empty() ? "RELEASING" : str("RELEASING: ", error));
}

Status Ledger::released(Lease& lease) {
  TRY(expect(lease, {LeaseState::kReleasing}));
  Transaction transaction = TRY(Transaction::begin(store_->database));
  Lease after = lease;
  const LeaseState end = lease.error.empty() ? LeaseState::kFree : LeaseState::kFailed;
  after.state = end;
  after.obstacle.clear();
  after.devices.clear();
  after.rails.clear();
  TRY(delete_ipus(store_->database, lease.id));
  TRY(forget_resetter(store_->database, lease));
  TRY(free_addresses(store_->database, lease.id, store_->now() + kQuarantineMs));
  return commit(transaction, lease, std::move(after), name_of(end));
}

Status Ledger::note_obstacle(Lease& lease, const std::string& obstacle) {
  TRY(expect(lease, {LeaseState::kReleasing}));
  Transaction transaction = TRY(Transaction::begin(store_->database));
  Lease after = lease;
  after.obstacle = obstacle;
  return commit(transaction, lease, std::move(after), obstacle);
}

Status Ledger::forget_history(int64_t before_ms) {
  for (const char* sql :
       {"DELETE FROM event WHERE lease IN (SELECT id FROM lease WHERE state IN ('FREE', 'FAILED')"
        " AND changed_ms < ?)",
        "DELETE FROM lease WHERE state IN ('FREE', 'FAILED') AND changed_ms < ?"}) {
    Statement statement = TRY(store_->database.prepare(sql));
    TRY(statement.bind(before_ms).run());
  }
  return {};
}

Result<std::optional<Lease>> Ledger::find(const std::string& id) {
  std::vector<Lease> leases = TRY(select_leases(store_->database, "id = ?", {id}));
  if (leases.empty()) return std::optional<Lease>();
  return std::optional<Lease>(std::move(leases.front()));
}

Result<Lease> Ledger::get(const std::string& text) {
  constexpr std::string_view kMatches =
      "(substr(id, 1, length(?1)) = ?1 OR substr(container, 1, length(?1)) = ?1)";
  std::vector<Lease> found = TRY(select_leases(
      store_->database, str("state NOT IN ('FREE', 'FAILED') AND ", kMatches), {text}));
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
  // A container that was started again has a lease from each time: the newest is meant.
  const std::string& container = found.back().container;
  for (const Lease& lease : found) {
    if (lease.container != container) {
      return Error(Code::kInvalid, str(base::quote(text),
                                       " fits the leases of several containers; give more of it"));
    }
  }
  return std::move(found.back());
}

Result<std::vector<Lease>> Ledger::live() {
  return select_leases(store_->database, "state NOT IN ('FREE', 'FAILED')", {});
}

}  // namespace hook
