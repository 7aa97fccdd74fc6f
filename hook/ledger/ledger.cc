// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/ledger.h"

#include <algorithm>
#include <iterator>

#include "base/clock.h"
#include "base/fs.h"
#include "base/text.h"
#include "hook/ledger/rail_choice.h"
#include "hook/ledger/rail_rows.h"
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

constexpr int kBusyMs = 5000;  // the longest wait for another writer

std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

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

Result<Ledger::Taken> Ledger::take_warm(Lease& lease) {
  Transaction transaction = TRY(Transaction::begin(store_->database));
  Lease after = TRY(begin_change(lease, {LeaseState::kIntent}));
  Statement warm = TRY(store_->database.prepare(
      "DELETE FROM partition WHERE pool = ?1 AND name = (SELECT name FROM partition WHERE pool = ?1"
      " AND source = ?2 AND kind = 'WARM' AND state = 'READY' AND ipus = ?3"
      " ORDER BY created_ms, name LIMIT 1) RETURNING name"));
  warm.bind(lease.pool).bind(lease.controller).bind(int64_t{lease.ipus});
  if (TRY(warm.step()) == Step::kDone) return Taken::kNone;
  after.partition = warm.text(0);
  TRY(warm.run());
  const std::string event = str("took the warm partition ", after.partition);
  TRY(commit(transaction, lease, std::move(after), event));
  return Taken::kYes;
}

// That the lease still is as the caller read it is told by its generation. The caller's copy
// decides nothing beside: another lease may have shared its interfaces or left its partition to it
// meanwhile, which is no change that a writer has to lose by.
Result<Lease> Ledger::begin_change(const Lease& lease, std::initializer_list<LeaseState> from) {
  if (std::find(from.begin(), from.end(), lease.state) == from.end()) {
    return Error(Code::kInternal, str("lease ", lease.id, " is ", name_of(lease.state),
                                      ", from which this change is not possible"));
  }
  std::optional<Lease> stored = TRY(find(lease.id));
  if (!stored || stored->generation != lease.generation) {
    return Error(Code::kBusy, str("lease ", lease.id, " was changed by another process"));
  }
  ++stored->generation;
  stored->changed_ms = store_->now();
  return std::move(*stored);
}

Status Ledger::commit(Transaction& transaction, Lease& lease, Lease after, std::string_view event) {
  TRY(update_lease(store_->database, after));
  TRY(insert_event(store_->database, after, event));
  TRY(transaction.commit());
  lease = std::move(after);
  return {};
}

Status Ledger::allocated(Lease& lease, std::vector<LeasedIpu> devices,
                         std::vector<netns::Prefix> prohibited,
                         const std::vector<RailRequest>& rails,
                         const std::optional<netns::Identity>& in) {
  Transaction transaction = TRY(Transaction::begin(store_->database));
  Lease after = TRY(begin_change(lease, {LeaseState::kIntent}));
  after.state = LeaseState::kAllocated;
  after.prohibited = std::move(prohibited);
  // A lease that joined has the IPUs already, also when the partition became its own meanwhile.
  if (after.origin != Origin::kJoined && after.devices.empty()) {
    after.devices = std::move(devices);
    TRY(insert_ipus(store_->database, after));
  }
  after.ipus = static_cast<uint32_t>(after.devices.size());
  TRY(mark_used(store_->database, after));
  if (!rails.empty()) TRY(take_rails(after, rails, in));
  return commit(transaction, lease, std::move(after), "ALLOCATED");
}

Status Ledger::take_rails(Lease& lease, const std::vector<RailRequest>& rails,
                          const std::optional<netns::Identity>& in) {
  lease.attachment = lease.id;
  // Also before it is attached, for those that are started in the same namespace meanwhile.
  if (in) lease.netns = *in;
  const std::vector<Lease> attached =
      TRY(select_attached(store_->database, lease.netns, lease.boot_id));
  if (!attached.empty()) {
    const Lease& other = attached.front();
    lease.attachment = other.attachment;
    // Whoever is left when the others have ended removes the interfaces, also when its own hook
    // never ran.
    lease.netns = other.netns;
    lease.netns_id = other.netns_id;
    lease.host_netns_cookie = other.host_netns_cookie;
  }
  TRY(load_rails(store_->database, lease));
  TRY(reserve_rails(store_->database, lease, rails, lease.changed_ms));
  return load_rails(store_->database, lease);  // in their order
}

Status Ledger::attaching(Lease& lease, const base::ProcessId& owner,
                         const AttachedNamespace& netns) {
  Transaction transaction = TRY(Transaction::begin(store_->database));
  Lease after = TRY(begin_change(lease, {LeaseState::kAllocated}));
  const bool shares = after.attachment != after.id && !after.attachment.empty();
  if (shares && after.netns != netns.identity) {
    return Error(Code::kInvalid,
                 "the container was to share the network namespace of another one,"
                 " and has not got it; start it again");
  }
  after.owner = owner;
  after.netns = netns.identity;
  after.netns_id = netns.id;
  after.host_netns_cookie = netns.host_cookie;
  return commit(transaction, lease, std::move(after), str("attaching, as process ", owner.pid));
}

Status Ledger::running(Lease& lease, const base::ProcessId& init) {
  Transaction transaction = TRY(Transaction::begin(store_->database));
  Lease after = TRY(begin_change(lease, {LeaseState::kAllocated}));
  after.state = LeaseState::kRunning;
  after.owner = init;
  return commit(transaction, lease, std::move(after), str("RUNNING, as process ", init.pid));
}

Status Ledger::relocated(Lease& lease, std::vector<LeasedIpu> devices) {
  Transaction transaction = TRY(Transaction::begin(store_->database));
  Lease after = TRY(begin_change(lease, {LeaseState::kRunning}));
  after.devices = std::move(devices);
  if (after.origin != Origin::kJoined) {
    TRY(delete_ipus(store_->database, after.id));
    TRY(insert_ipus(store_->database, after));
  }
  return commit(transaction, lease, std::move(after), "relocated");
}

Status Ledger::releasing(Lease& lease, const base::ProcessId& owner, const std::string& error) {
  Transaction transaction = TRY(Transaction::begin(store_->database));
  Lease after = TRY(begin_change(lease, {LeaseState::kIntent, LeaseState::kAllocated,
                                         LeaseState::kRunning, LeaseState::kReleasing}));
  after.state = LeaseState::kReleasing;
  after.owner = owner;
  if (after.error.empty()) after.error = error;
  if (after.origin != Origin::kJoined) TRY(pass_partition_on(after));
  if (after.origin == Origin::kJoined) after.devices.clear();
  return commit(transaction, lease, std::move(after),
                error.empty() ? "RELEASING" : str("RELEASING: ", error));
}

// The partition stays as long as one of those who joined does: the oldest has it from here on. Its
// generation stays, so that its own process, which may be starting or releasing it just now, loses
// nothing; whatever that changes next starts from what is stored here.
Status Ledger::pass_partition_on(Lease& lease) {
  const std::vector<Lease> joined = TRY(select_joined(store_->database, lease));
  if (joined.empty()) return {};
  Lease heir = joined.front();
  TRY(pass_partition(store_->database, lease, heir));
  lease.origin = Origin::kJoined;
  heir.changed_ms = lease.changed_ms;
  return insert_event(store_->database, heir,
                      str("has the partition of container ", lease.container.substr(0, 12)));
}

Status Ledger::released(Lease& lease) {
  Transaction transaction = TRY(Transaction::begin(store_->database));
  Lease after = TRY(begin_change(lease, {LeaseState::kReleasing}));
  TRY(delete_ipus(store_->database, after.id));
  TRY(forget_resetter(store_->database, after));
  TRY(free_rails(store_->database, after, after.changed_ms));
  after.state = after.error.empty() ? LeaseState::kFree : LeaseState::kFailed;
  after.obstacle.clear();
  after.attachment.clear();
  after.devices.clear();
  after.rails.clear();
  const std::string_view event = name_of(after.state);
  return commit(transaction, lease, std::move(after), event);
}

Status Ledger::note_obstacle(Lease& lease, const std::string& obstacle) {
  Transaction transaction = TRY(Transaction::begin(store_->database));
  Lease after = TRY(begin_change(lease, {LeaseState::kReleasing}));
  after.obstacle = obstacle;
  return commit(transaction, lease, std::move(after), obstacle);
}

Status Ledger::note_duplicate(const Lease& lease, const std::string& interface,
                              const netns::MacAddress& mac) {
  const auto rail = std::find_if(lease.rails.begin(), lease.rails.end(),
                                 [&](const RailLease& own) { return own.interface == interface; });
  if (rail == lease.rails.end()) {
    return Error(Code::kNotFound,
                 str("lease ", lease.id, " has no interface ", base::quote(interface)));
  }
  Transaction transaction = TRY(Transaction::begin(store_->database));
  TRY(mark_duplicate(store_->database, lease, *rail, mac));
  Lease at = lease;
  at.changed_ms = store_->now();
  TRY(insert_event(store_->database, at,
                   str("another host, with MAC ", netns::to_string(mac), ", answers for ",
                       netns::to_string(rail->address))));
  return transaction.commit();
}

}  // namespace hook
