// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/rebuild.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/fs.h"
#include "base/scope.h"
#include "base/text.h"
#include "hook/ledger/check.h"
#include "hook/ledger/gate.h"
#include "hook/ledger/history.h"
#include "hook/ledger/rail_rows.h"
#include "hook/ledger/reserve.h"
#include "hook/ledger/rows.h"
#include "hook/lifecycle/claims.h"
#include "hook/lifecycle/survey.h"

namespace hook {
namespace {

using base::Code;
using base::Deadline;
using base::Error;
using base::Fd;
using base::Result;
using base::Status;
using base::str;
using sqlite::Database;

constexpr int kBusyMs = 1000;
constexpr off_t kBlock = 4096;

Status check_needed(const Rebuild& rebuild) {
  TRY(check_known(rebuild.ledger));
  if (rebuild.force) return {};
  const Result<std::vector<Flaw>> flaws = check_ledger(rebuild.ledger);
  if (!flaws.ok() && flaws.error().code() == Code::kNotFound) return {};
  TRY(flaws);
  const auto is_error = [](const Flaw& flaw) { return flaw.gravity == Gravity::kError; };
  if (std::any_of(flaws.value().begin(), flaws.value().end(), is_error)) return {};
  return Error(Code::kInvalid, str("the ledger ", base::quote(rebuild.ledger),
                                   " is whole; there is nothing to rebuild (--force does it all"
                                   " the same)"));
}

// Copies what can be read: a block that cannot is zeros in the copy, and noted. What is not there,
// or no file, has nothing to be read.
Status copy_readable(const std::string& from, const std::string& to,
                     std::vector<std::string>& notes) {
  Result<Fd> opened = base::open_at(AT_FDCWD, from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!opened.ok() && opened.error().code() == Code::kNotFound) return {};
  const Fd in = TRY(std::move(opened));
  struct stat status {};
  if (::fstat(in.get(), &status) != 0) return Error::from_errno(errno, from);
  if (!S_ISREG(status.st_mode)) return {};
  const Fd out = TRY(base::open_at(AT_FDCWD, to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  int64_t lost = 0;
  std::string block(kBlock, '\0');
  for (off_t at = 0; at < status.st_size; at += kBlock) {
    ssize_t length = ::pread(in.get(), block.data(), block.size(), at);
    if (length < 0) {
      ++lost;
      length = std::min<off_t>(kBlock, status.st_size - at);
      block.assign(kBlock, '\0');
    }
    TRY(base::write_all(out.get(), block.substr(0, static_cast<size_t>(length)), to));
  }
  if (lost > 0) {
    notes.push_back(str(lost, " blocks of ", kBlock, " bytes of ", from, " cannot be read"));
  }
  return {};
}

// What an insert that would break an invariant leaves out, and says.
Status unless_held(const Status& inserted, const Lease& lease, std::vector<std::string>& notes) {
  if (inserted.ok() || inserted.error().code() != Code::kExists) return inserted;
  notes.push_back(str("container ", lease.container.substr(0, 12), ", lease ", lease.id,
                      ": left out what another one holds (", inserted.error().message(), ")"));
  return {};
}

Status add_lease(Database& database, const Lease& lease, std::vector<std::string>& notes) {
  const Status row = insert_lease(database, lease);
  TRY(unless_held(row, lease, notes));
  if (!row.ok()) return {};
  for (const RailLease& rail : lease.rails) {
    const Status inserted = insert_rail(database, lease, rail);
    // Those that share an attachment have the same interfaces.
    if (!inserted.ok() && lease.attachment != lease.id) continue;
    TRY(unless_held(inserted, lease, notes));
  }
  if (lease.origin == Origin::kJoined) return {};
  return unless_held(insert_ipus(database, lease), lease, notes);
}

// History comes first: what happens from here on follows it, and the audit log beside LEDGER.
Status begin_history(const std::string& path, const std::string& old, const std::string& ledger,
                     const Rebuilt& done) {
  Database database = TRY(Database::open(path, kBusyMs));
  Store store{std::move(database)};
  copy_history(store.database, old);
  Event event;
  event.kind = EventKind::kNote;
  event.text = str("the ledger was rebuilt: ", done.running.size(), " running, ", done.ended.size(),
                   " to be released");
  TRY(record_event(store, std::move(event)));
  return follow_audit_log(store.database, audit_log_of(ledger));
}

// All that lives, into the new ledger at PATH.
Status fill(const std::string& path, Rebuilt& done) {
  Database database = TRY(Database::open(path, kBusyMs));
  for (const std::vector<Lease>* leases : {&done.running, &done.ended}) {
    for (const Lease& lease : *leases) TRY(add_lease(database, lease, done.notes));
  }
  return database.execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

// With force a flaw is a note.
Status check_new(const std::string& path, const Rebuild& rebuild, Rebuilt& done) {
  for (const Flaw& flaw : TRY(check_ledger(path))) {
    if (flaw.gravity == Gravity::kNote) continue;
    if (!rebuild.force) {
      return Error(Code::kInternal,
                   str("the rebuilt ledger has a flaw, so the old one is kept: ", flaw.says,
                       "; stop that container, or take it with --force"));
    }
    done.notes.push_back(str("it has a flaw: ", flaw.says));
  }
  return {};
}

// What such a container holds is in no ledger then, and others would get it.
Status check_unknown(const Rebuild& rebuild, const Claims& claims) {
  if (rebuild.force || rebuild.dry_run == DryRun::kYes || claims.unknown.empty()) return {};
  const EngineContainer& one = claims.unknown.front();
  return Error(Code::kBusy,
               str("container ", one.container.substr(0, 12), " runs with lease ", one.lease,
                   ", of which nothing else is known, so others would get what it has; stop it, or"
                   " take that with --force"));
}

Status move(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0 || errno == ENOENT) return {};
  return Error::from_errno(errno, str("rename ", base::quote(from)));
}

Status sync_directory(const std::string& path) {
  const base::Fd directory = TRY(base::open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY));
  if (::fsync(directory.get()) == 0) return {};
  return Error::from_errno(errno, str("sync ", base::quote(path)));
}

bool is_there(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

// The old log must be gone before the new database comes: SQLite would take it for that one's. What
// a crash in between leaves says that it is damaged, by its reserve, and can be rebuilt again.
Result<std::string> put_in_place(const std::string& fresh, const std::string& ledger) {
  std::string aside = str(ledger, ".damaged-", base::unix_millis());
  const bool was_there = is_there(ledger);
  (void)ensure_reserve(ledger);
  TRY(move(ledger, aside));
  for (const char* suffix : {"-wal", "-shm"}) TRY(move(ledger + suffix, aside + suffix));
  TRY(move(fresh, ledger));
  TRY(sync_directory(ledger.substr(0, ledger.rfind('/'))));
  return was_there ? aside : std::string();
}

// What a rebuild makes is here until it is put in place; then it has the name of the ledger.
std::string scratch_of(const std::string& ledger) {
  return str(ledger.substr(0, ledger.rfind('/')), "/rebuild");
}

enum class Finished { kYes, kNothing };

// A rebuild that was killed between its last two steps left a ledger that only has to be moved.
Result<Finished> finish_earlier(const std::string& ledger) {
  const std::string ready = scratch_of(ledger) + "/ledger.db";
  const bool was_cut = !is_there(ledger) && is_there(ready);
  if (was_cut) TRY(put_in_place(ready, ledger));
  TRY(base::remove_flat_dir(scratch_of(ledger)));
  return was_cut ? Finished::kYes : Finished::kNothing;
}

Result<Rebuilt> build(const Rebuild& rebuild, const std::string& scratch,
                      const Deadline& deadline) {
  const std::string old = scratch + "/old.db";
  const std::string fresh = scratch + "/new.db";
  std::vector<std::string> notes;
  for (const char* suffix : {"", "-wal"}) {
    TRY(copy_readable(rebuild.ledger + suffix, old + suffix, notes));
  }
  Salvaged salvaged = salvage(old);
  TRY(base::remove_file(reserve_file(old)));  // the copy's, beside which the new one is made
  Rebuilt done;
  {
    Ledger ledger = TRY(Ledger::open(fresh));
    Env env = rebuild.env(ledger);
    Claims claims =
        TRY(judge_claims(env, std::move(salvaged), find_engine_containers(rebuild.engines_dir)));
    TRY(check_unknown(rebuild, claims));
    done = {std::move(claims.running), std::move(claims.ended), std::move(claims.partitions),
            std::move(notes), ""};
    done.notes.insert(done.notes.end(), claims.notes.begin(), claims.notes.end());
    TRY(begin_history(fresh, old, rebuild.ledger, done));
    const Survey survey = survey_pools(env, rebuild.pools, deadline);
    judge_partitions(survey, rebuild.unclaimed, claims.unknown, done);
    for (const PartitionRecord& record : done.partitions) TRY(ledger.partitions().intend(record));
  }
  TRY(fill(fresh, done));
  TRY(check_new(fresh, rebuild, done));
  return done;
}

Result<Rebuilt> rebuild_alone(const Rebuild& rebuild, const Deadline& deadline) {
  const std::string directory = rebuild.ledger.substr(0, rebuild.ledger.rfind('/'));
  TRY(base::ensure_dir(directory, 0700));
  const Gate gate = TRY(Gate::enter(rebuild.ledger, Gate::Way::kRebuild));
  Rebuilt done;
  if (rebuild.dry_run == DryRun::kNo) {
    const Finished finished = TRY(finish_earlier(rebuild.ledger));
    if (finished == Finished::kYes) {
      done.notes = {"a rebuild that was cut short is finished"};
      return done;
    }
  }
  TRY(check_needed(rebuild));
  const WritersFence fence = TRY(WritersFence::raise(rebuild.ledger));
  const std::string scratch = scratch_of(rebuild.ledger);
  TRY(base::ensure_dir(scratch, 0700));
  base::ScopeExit clean([&] { (void)base::remove_flat_dir(scratch); });
  done = TRY(build(rebuild, scratch, deadline));
  if (rebuild.dry_run == DryRun::kYes) return done;
  TRY(move(scratch + "/new.db", scratch + "/ledger.db"));
  clean.dismiss();  // from here on it is the only one: see finish_earlier()
  done.set_aside = TRY(put_in_place(scratch + "/ledger.db", rebuild.ledger));
  (void)base::remove_flat_dir(scratch);
  return done;
}

}  // namespace

Result<Rebuilt> rebuild_ledger(const Rebuild& rebuild, const Deadline& deadline) {
  Rebuilt done = TRY(rebuild_alone(rebuild, deadline));
  if (rebuild.dry_run == DryRun::kYes) return done;
  Result<Ledger> ledger = Ledger::open(rebuild.ledger);
  if (ledger.ok()) (void)ledger.value().events().write_audit_log();  // or the next commit does
  return done;
}

Status remove_earlier_rebuild(const std::string& ledger) {
  if (!is_there(scratch_of(ledger))) return {};
  const Gate gate = TRY(Gate::enter(ledger, Gate::Way::kRebuild));
  TRY(finish_earlier(ledger));
  return {};
}

}  // namespace hook
