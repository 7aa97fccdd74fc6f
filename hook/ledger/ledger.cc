// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/ledger.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/clock.h"
#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/internal/gate.h"
#include "hook/ledger/internal/history.h"
#include "hook/ledger/internal/rail_choice.h"
#include "hook/ledger/internal/rail_rows.h"
#include "hook/ledger/internal/refusals.h"
#include "hook/ledger/internal/reserve.h"
#include "hook/ledger/internal/rows.h"
#include "hook/ledger/internal/schema.h"
#include "hook/ledger/internal/store.h"
#include "hook/ledger/internal/usage_rows.h"

namespace hook::ledger {
namespace {

using namespace base::names;
using sqlite::Statement;
using sqlite::Step;
using sqlite::Transaction;

constexpr int kWriteMs = 5000;  // the longest wait for another writer

// Returns the change that ends a release.
Change end_of(const Lease& lease) {
  if (!lease.error.empty()) return Change::kFail;
  return lease.quarantine_until_ms > 0 ? Change::kQuarantine : Change::kFree;
}

// Sets the journal mode, and retries itself: SQLite does not wait here. Processes that change a new
// database at the same time look like a deadlock to SQLite, and all but one get SQLITE_BUSY at
// once.
Status use_wal(sqlite::Database& database) {
  const auto patience = base::Deadline::after(std::chrono::milliseconds(kWriteMs));
  for (;;) {
    Status changed = database.execute("PRAGMA journal_mode=WAL");
    if (changed.ok() || changed.error().code() != Code::kBusy || patience.passed()) return changed;
    base::sleep_for(std::chrono::milliseconds(1), patience);
  }
}

// Adds what a database of version 2 may lack.
Status complete_version_2(sqlite::Database& database) {
  Statement mark = TRY(database.prepare(kMarkOfVersion2));
  if (TRY(mark.step()) == Step::kRow) return {};
  return database.execute(kRestOfVersion2);
}

bool has_entries(const std::string& directory) {
  std::error_code err;
  return !std::filesystem::is_empty(directory, err) && !err;
}

// An open must not mistake a lost ledger for a new one, because what that ledger held may still
// exist. LEASES is looked for first: leases have directories only after their ledger was made.
Status check_not_lost(const std::string& path, const std::string& leases) {
  const bool was_there = has_entries(leases) || has_had_reserve(path);
  struct stat status {};
  const bool is_absent = ::lstat(path.c_str(), &status) != 0 && errno == ENOENT;
  return is_absent && was_there ? sqlite::damaged(path, "it is gone") : Status();
}

}  // namespace

Ledger::Ledger(std::unique_ptr<Store> store) : store_(std::move(store)) {}
Ledger::Ledger(Ledger&&) noexcept = default;
Ledger& Ledger::operator=(Ledger&&) noexcept = default;
Ledger::~Ledger() = default;

Result<Ledger> Ledger::open(const std::string& path, base::WallClock now) {
  return open_unless_lost(path, std::move(now), "");
}

Result<Ledger> Ledger::open_of_host(const std::string& path, const std::string& run_dir) {
  return open_unless_lost(path, base::unix_millis, str(run_dir, "/leases"));
}

Result<Ledger> Ledger::open_unless_lost(const std::string& path, base::WallClock now,
                                        const std::string& leases) {
  TRY_CTX("ledger", base::ensure_dir(base::directory_of(path), 0700));
  const Gate gate = TRY(Gate::enter(path, Gate::Way::kOpen));
  TRY(check_not_lost(path, leases));
  Result<Ledger> ledger = open_inside(path, now);
  if (ledger.ok() || !sqlite::is_full(ledger.error())) return ledger;
  if (give_up_reserve(path) == GivenUp::kWasNot) return ledger;  // a full disk stops no open
  return open_inside(path, std::move(now));
}

Result<Ledger> Ledger::open_inside(const std::string& path, base::WallClock now) {
  sqlite::Database database = TRY(sqlite::Database::open(path, kWriteMs));
  AuditLog audit(audit_log_of(path));
  Ledger ledger(
      std::make_unique<Store>(Store{std::move(database), std::move(now), std::move(audit)}));
  // One sync per commit: the write-ahead log stays when the last process closes it, and is not
  // copied into the database then.
  TRY(use_wal(ledger.store_->database));
  TRY(ledger.store_->database.execute("PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=250;"));
  int persist = 1;
  (void)sqlite3_file_control(ledger.store_->database.handle(), "main", SQLITE_FCNTL_PERSIST_WAL,
                             &persist);
  (void)sqlite3_db_config(ledger.store_->database.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
                          nullptr);
  TRY(ledger.migrate(path, has_had_reserve(path)));
  // Without a reserve there are no new leases, but existing ones can be used and ended. The next
  // new lease restores a reserve that was given up.
  if (!has_had_reserve(path)) (void)ensure_reserve(path);
  return ledger;
}

Result<Ledger> Ledger::open_copy(const std::string& path) {
  TRY(check_not_lost(path, ""));
  const bool had_reserve = has_had_reserve(path);  // the first start may be making it now
  sqlite::Database copy = TRY(sqlite::Database::copy_of(path, kWriteMs));
  Ledger ledger(std::make_unique<Store>(Store{std::move(copy)}));
  TRY(ledger.migrate(path, had_reserve));
  return ledger;
}

Status Ledger::migrate(const std::string& path, bool had_reserve) {
  const auto version = [&]() -> Result<int64_t> {
    Statement statement = TRY(store_->database.prepare("PRAGMA user_version"));
    TRY(statement.step());
    return statement.integer(0);
  };
  const int64_t seen = TRY(version());
  const int64_t compatible = seen > kNewestVersion ? TRY(compatible_from()) : 0;
  if (seen > kNewestVersion && compatible > kNewestVersion) {
    return Error(Code::kUnsupported,
                 str("ledger: written by a newer version of ipu-container-toolkit (schema ", seen,
                     ", this one knows ", kNewestVersion, "); install that version again"));
  }
  if (seen >= kNewestVersion) return {};
  Transaction transaction = TRY(Transaction::begin(store_->database));
  const int64_t now = TRY(version());  // another process may have been first
  if (now == 0 && had_reserve) return sqlite::damaged(path, "it has become empty");
  for (int64_t step = now; step < kNewestVersion; ++step) {
    if (step == 2) TRY(complete_version_2(store_->database));
    TRY(store_->database.execute(kMigrations[step]));
  }
  TRY(store_->database.execute(str("PRAGMA user_version = ", kNewestVersion).c_str()));
  TRY(store_->database.execute(str("INSERT OR REPLACE INTO meta(name, value)"
                                   " VALUES('compatible_from', '",
                                   kCompatibleFrom, "')")
                                   .c_str()));
  return transaction.commit();
}

// Returns the oldest schema whose programs may write to this database, which is newer than this
// program. If the database does not say, no older program may.
Result<int64_t> Ledger::compatible_from() {
  Result<Statement> row =
      store_->database.prepare("SELECT value FROM meta WHERE name = 'compatible_from'");
  if (!row.ok()) return INT64_MAX;
  if (TRY(row.value().step()) == Step::kDone) return INT64_MAX;
  return base::parse_int<int64_t>(row.value().text(0), 1, INT64_MAX);
}

Result<Ledger::Taken> Ledger::take_warm(Lease& lease, const std::string& given) {
  Transaction transaction = TRY(Transaction::begin(store_->database));
  Lease after = TRY(begin_change(lease, Change::kTakeWarm));
  after.partition = given;
  if (given.empty()) {
    Statement warm = TRY(store_->database.prepare(
        "DELETE FROM partition WHERE pool = ?1 AND name = (SELECT name FROM partition WHERE"
        " pool = ?1 AND source = ?2 AND kind = 'WARM' AND state = 'READY' AND ipus = ?3"
        " ORDER BY created_ms, name LIMIT 1) RETURNING name"));
    warm.bind(lease.pool).bind(lease.controller).bind(int64_t{lease.ipus});
    if (TRY(warm.step()) == Step::kDone) return Taken::kNone;
    after.partition = warm.text(0);
    TRY(warm.run());
  }
  TRY(record_partition(*store_, after.pool, after.partition, "TAKEN", after.container));
  const std::string event = str("took the warm partition ", after.partition);
  TRY(commit(transaction, lease, std::move(after), event));
  return Taken::kYes;
}

// The generation shows whether the lease is still as the caller read it. Nothing else in the
// caller's copy counts: another lease may have shared its interfaces or passed its partition on
// meanwhile. That is no change for which a writer has to fail.
Result<Lease> Ledger::begin_change(const Lease& lease, Change change) {
  const Transition* const transition = find_transition(change, lease.state);
  if (transition == nullptr) {
    return Error(Code::kInternal, str("lease ", lease.id, " is ", name_of(lease.state),
                                      ", a state that does not allow '", name_of(change), "'"));
  }
  std::optional<Lease> stored = TRY(find(lease.id));
  if (!stored || stored->generation != lease.generation) {
    return Error(Code::kBusy, str("lease ", lease.id, " was changed by another process"));
  }
  stored->state = transition->to;
  ++stored->generation;
  stored->changed_ms = store_->now();
  return std::move(*stored);
}

Status Ledger::commit(Transaction& transaction, Lease& lease, Lease after, std::string_view event) {
  const bool gives_addresses = after.state != lease.state && after.state == LeaseState::kAllocated;
  TRY(update_lease(store_->database, after));
  if (!event.empty()) {
    TRY(record_change(*store_, after, event,
                      gives_addresses ? after.rails : std::vector<RailLease>()));
  }
  TRY(ledger::commit(*store_, transaction));
  if (!event.empty()) store_->notes.drop(after.id);
  lease = std::move(after);
  return {};
}

Status Ledger::mark_allocated(Lease& lease, std::vector<LeasedIpu> devices,
                              std::vector<netns::Prefix> prohibited,
                              const std::vector<RailRequest>& rails,
                              const std::optional<netns::Identity>& in) {
  Transaction transaction = TRY(Transaction::begin(store_->database));
  TRY(queue().check_wanted(lease.id));
  Lease after = TRY(begin_change(lease, Change::kAllocate));
  after.prohibited = std::move(prohibited);
  // A lease that joined has the IPUs already, even if it has inherited the partition meanwhile.
  if (after.origin != Origin::kJoined && after.devices.empty()) {
    after.devices = std::move(devices);
    TRY(insert_ipus(store_->database, after));
  }
  after.ipus = static_cast<uint32_t>(after.devices.size());
  TRY(mark_used(store_->database, after));
  if (!rails.empty()) TRY(take_rails(after, rails, in));
  return commit(transaction, lease, std::move(after), "ALLOCATED");
}

Status Ledger::begin_attach(Lease& lease, const base::ProcessId& owner,
                            const AttachedNamespace& netns) {
  Transaction transaction = TRY(Transaction::begin(store_->database));
  Lease after = TRY(begin_change(lease, Change::kAttach));
  const bool shares = after.attachment != after.id && !after.attachment.empty();
  if (shares && after.netns != netns.identity) {
    return Error(Code::kInvalid,
                 "the container is not in the network namespace that it was to share with"
                 " another container; start it again");
  }
  after.owner = owner;
  after.netns = netns.identity;
  after.netns_id = netns.id;
  after.host_netns_cookie = netns.host_cookie;
  return commit(transaction, lease, std::move(after), str("attaching, as process ", owner.pid));
}

Status Ledger::mark_running(Lease& lease, const base::ProcessId& init, const std::string& cgroup) {
  Transaction transaction = TRY(Transaction::begin(store_->database));
  Lease after = TRY(begin_change(lease, Change::kRun));
  after.owner = init;
  after.cgroup = cgroup;
  return commit(transaction, lease, std::move(after), str("RUNNING, as process ", init.pid));
}

Status Ledger::adopt_process(Lease& lease, const base::ProcessId& init) {
  Transaction transaction = TRY(Transaction::begin(store_->database));
  Lease after = TRY(begin_change(lease, Change::kAdopt));
  after.owner = init;
  return commit(transaction, lease, std::move(after), str("restored, as process ", init.pid));
}

Status Ledger::mark_relocated(Lease& lease, std::vector<LeasedIpu> devices) {
  Transaction transaction = TRY(Transaction::begin(store_->database));
  Lease after = TRY(begin_change(lease, Change::kRelocate));
  after.devices = std::move(devices);
  if (after.origin != Origin::kJoined) {
    TRY(delete_ipus(store_->database, after.id));
    TRY(insert_ipus(store_->database, after));
  }
  return commit(transaction, lease, std::move(after), "relocated");
}

Status Ledger::mark_prohibited(Lease& lease, const std::vector<netns::Prefix>& more) {
  Transaction transaction = TRY(Transaction::begin(store_->database));
  Lease after = TRY(begin_change(lease, Change::kProhibit));
  std::string event = "kept from";
  for (const netns::Prefix& prefix : more) {
    after.prohibited.push_back(prefix);
    event += str(" ", netns::to_string(prefix));
  }
  return commit(transaction, lease, std::move(after), event);
}

// The changes that give back are recorded on a full disk as well.
Status Ledger::begin_release(Lease& lease, const base::ProcessId& owner, const std::string& error) {
  return with_reserve(*store_, [&] { return try_begin_release(lease, owner, error); });
}

Status Ledger::finish_release(Lease& lease, Late late) {
  return with_reserve(*store_, [&] { return try_finish_release(lease, late); });
}

Status Ledger::note_obstacle(Lease& lease, const std::string& obstacle) {
  return with_reserve(*store_, [&] { return try_note_obstacle(lease, obstacle); });
}

Status Ledger::try_begin_release(Lease& lease, const base::ProcessId& owner,
                                 const std::string& error) {
  Transaction transaction = TRY(Transaction::begin(store_->database));
  Lease after = TRY(begin_change(lease, Change::kRelease));
  after.owner = owner;
  if (after.error.empty()) after.error = error;
  if (after.origin != Origin::kJoined) TRY(pass_partition_on(after));
  if (after.origin == Origin::kJoined) after.devices.clear();
  // The error that the user saw is an event of its own; a further attempt is no event.
  const bool has_cause = !error.empty() && !store_->notes.has(lease.id, EventKind::kError);
  const bool is_retry = lease.state == LeaseState::kReleasing;
  return commit(transaction, lease, std::move(after),
                is_retry    ? ""
                : has_cause ? str("RELEASING: ", error)
                            : "RELEASING");
}

// Passes the partition to the oldest lease that joined it, because it stays as long as one of them
// does. The heir keeps its generation, so that its own process, which may be starting or releasing
// it now, does not fail. That process's next change starts from what is stored here.
Status Ledger::pass_partition_on(Lease& lease) {
  const std::vector<Lease> joined = TRY(select_joined(store_->database, lease));
  if (joined.empty()) return {};
  Lease heir = joined.front();
  TRY(pass_partition(store_->database, lease, heir));
  lease.origin = Origin::kJoined;
  lease.claim.clear();
  heir.changed_ms = lease.changed_ms;
  return record_change(
      *store_, heir, str("took over the partition of container ", base::short_id(lease.container)));
}

Status Ledger::try_finish_release(Lease& lease, Late late) {
  Transaction transaction = TRY(Transaction::begin(store_->database));
  // The clock ends a quarantine, not a change made here.
  Lease after = TRY(begin_change(lease, lease.error.empty() ? Change::kQuarantine : Change::kFail));
  TRY(add_usage(store_->database, after, after.changed_ms));
  TRY(delete_ipus(store_->database, after.id));
  TRY(forget_endpoint(store_->database, after.id));
  TRY(forget_resetter(store_->database, after));
  after.quarantine_until_ms = TRY(free_rails(store_->database, after, after.changed_ms));
  after.state = find_transition(end_of(after), lease.state)->to;
  after.owner = {};
  after.obstacle.clear();
  after.retry_ms = 0;
  after.attachment.clear();
  after.devices.clear();
  after.rails.clear();
  std::string event(name_of(after.state));
  if (after.state == LeaseState::kFailed && TRY(was_refused(store_->database, after.id))) {
    const bool may_forget = late == Late::kNever || after.origin != Origin::kOwn;
    event = TRY(count_refusal(*store_, after, may_forget));
  }
  return commit(transaction, lease, std::move(after), event);
}

Status Ledger::try_note_obstacle(Lease& lease, const std::string& obstacle) {
  Transaction transaction = TRY(Transaction::begin(store_->database));
  Lease after = TRY(begin_change(lease, Change::kHold));
  after.obstacle = obstacle;
  after.owner = {};
  ++after.attempts;
  after.retry_ms = after.changed_ms + retry_pause_ms(after.attempts);
  return commit(transaction, lease, std::move(after),
                obstacle == lease.obstacle ? "" : str("not released yet: ", obstacle));
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
  TRY(record_change(*store_, at,
                    str("another host, with MAC ", netns::to_string(mac), ", answers for ",
                        netns::to_string(rail->address))));
  TRY(ledger::commit(*store_, transaction));
  store_->notes.drop(lease.id);
  return {};
}

}  // namespace hook::ledger
