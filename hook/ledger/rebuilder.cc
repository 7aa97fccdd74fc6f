// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/rebuilder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/internal/gate.h"
#include "hook/ledger/internal/history.h"
#include "hook/ledger/internal/host_row.h"
#include "hook/ledger/internal/partition_files.h"
#include "hook/ledger/internal/rail_rows.h"
#include "hook/ledger/internal/reserve.h"
#include "hook/ledger/internal/rows.h"
#include "hook/ledger/internal/salvage.h"

namespace hook::ledger {
namespace {

using namespace base::names;
using base::Fd;
using sqlite::Database;

constexpr int kRebuildMs = 1000;
constexpr off_t kBlock = 4096;

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

// Turns the failure of an insert that would break an invariant into a note.
Status unless_held(const Status& inserted, const Lease& lease, std::vector<std::string>& notes) {
  if (inserted.ok() || inserted.error().code() != Code::kExists) return inserted;
  notes.push_back(str("container ", base::short_id(lease.container), ", lease ", lease.id,
                      ": ignored what another lease holds (", inserted.error().message(), ")"));
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

// Adds the partitions that only their files beside the ledger remember.
void add_records(const std::string& ledger, std::vector<PartitionRecord>& partitions,
                 std::vector<std::string>& notes) {
  for (PartitionRecord& record : read_partition_files(ledger, notes)) {
    const bool is_known = std::any_of(partitions.begin(), partitions.end(), [&](const auto& other) {
      return other.pool == record.pool && other.name == record.name;
    });
    if (!is_known) partitions.push_back(std::move(record));
  }
}

Status move(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0 || errno == ENOENT) return {};
  return Error::from_errno(errno, str("rename ", base::quote(from)));
}

Status sync_directory(const std::string& path) {
  const Fd directory = TRY(base::open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY));
  if (::fsync(directory.get()) == 0) return {};
  return Error::from_errno(errno, str("sync ", base::quote(path)));
}

bool is_there(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

// What a rebuild makes is here until it is put in place; then it has the name of the ledger.
std::string scratch_of(const std::string& ledger) {
  return base::directory_of(ledger) + "/rebuild";
}

// The old log must be gone before the new database comes: SQLite would take it for that one's. What
// a crash in between leaves says that it is damaged, by its reserve, and can be rebuilt again.
Result<std::string> replace(const std::string& ledger, const std::string& fresh) {
  std::string aside = str(ledger, ".damaged-", base::unix_millis());
  const bool was_there = is_there(ledger);
  (void)ensure_reserve(ledger);
  TRY(move(ledger, aside));
  for (const char* suffix : {"-wal", "-shm"}) TRY(move(ledger + suffix, aside + suffix));
  TRY(move(fresh, ledger));
  TRY(sync_directory(base::directory_of(ledger)));
  return was_there ? aside : std::string();
}

}  // namespace

struct Rebuilder::State {
  std::string ledger;
  Gate gate;
  std::optional<WritersFence> fence = {};  // from salvage() on
  std::vector<PartitionRecord> disowned = {};
  bool is_ready = false;  // the new ledger is complete: it is never removed

  [[nodiscard]] std::string scratch() const { return scratch_of(ledger); }
  [[nodiscard]] std::string old() const { return scratch() + "/old.db"; }
  [[nodiscard]] std::string fresh() const { return scratch() + "/new.db"; }
  [[nodiscard]] std::string ready_path() const { return scratch() + "/ledger.db"; }
};

Rebuilder::Rebuilder(std::unique_ptr<State> state) : state_(std::move(state)) {}
Rebuilder::Rebuilder(Rebuilder&&) noexcept = default;
Rebuilder::~Rebuilder() {
  if (state_ && state_->fence && !state_->is_ready) (void)base::remove_flat_dir(state_->scratch());
}

Result<Rebuilder> Rebuilder::enter(const std::string& path) {
  TRY(base::ensure_dir(base::directory_of(path), 0700));
  Gate gate = TRY(Gate::enter(path, Gate::Way::kRebuild));
  return Rebuilder(std::make_unique<State>(State{path, std::move(gate)}));
}

Result<Rebuilder::Finished> Rebuilder::finish_earlier() {
  const bool was_cut = !is_there(state_->ledger) && is_there(state_->ready_path());
  if (was_cut) TRY(replace(state_->ledger, state_->ready_path()));
  TRY(base::remove_flat_dir(state_->scratch()));
  return was_cut ? Finished::kYes : Finished::kNothing;
}

Result<Salvaged> Rebuilder::salvage() {
  state_->fence = TRY(WritersFence::raise(state_->ledger));
  TRY(base::ensure_dir(state_->scratch(), 0700));
  std::vector<std::string> notes;
  for (const char* suffix : {"", "-wal"}) {
    TRY(copy_readable(state_->ledger + suffix, state_->old() + suffix, notes));
  }
  Salvaged salvaged = read_damaged(state_->old());
  TRY(base::remove_file(reserve_file(state_->old())));  // beside which the new one is made
  add_records(state_->ledger, salvaged.partitions, notes);
  salvaged.notes = std::move(notes);
  return salvaged;
}

Result<Ledger> Rebuilder::open_new(const HostWitnesses& host, const std::string& tag) {
  Ledger ledger = TRY(Ledger::open(state_->fresh()));
  Database database = TRY(Database::open(state_->fresh(), kRebuildMs));
  const std::string made = TRY(new_tag(host));
  TRY(write_host(database, {tag.empty() ? made : tag, host}));
  TRY(ledger.host().be_on(host));
  return ledger;
}

Status Rebuilder::disown(const std::vector<PartitionRecord>& partitions) {
  Database database = TRY(Database::open(state_->fresh(), kRebuildMs));
  TRY(
      database.execute("DELETE FROM lease; DELETE FROM address; DELETE FROM late_partition;"
                       " DELETE FROM ipu_health; DELETE FROM refusal"));
  state_->disowned = partitions;
  return {};
}

Result<Taints> Rebuilder::begin_history(std::string_view event) {
  Database database = TRY(Database::open(state_->fresh(), kRebuildMs));
  Store store{std::move(database)};
  const Taints taints = copy_history(store.database, state_->old());
  TRY(record_note(store, event));
  TRY(follow_audit_log(store.database, audit_log_of(state_->ledger)));
  return taints;
}

Status Rebuilder::add(const std::vector<Lease>& leases, std::vector<std::string>& notes) {
  Database database = TRY(Database::open(state_->fresh(), kRebuildMs));
  for (const Lease& lease : leases) TRY(add_lease(database, lease, notes));
  return database.execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

std::string Rebuilder::new_path() const { return state_->fresh(); }

Result<std::string> Rebuilder::put_in_place() {
  TRY(move(state_->fresh(), state_->ready_path()));
  state_->is_ready = true;  // from here on it is the only one: see finish_earlier()
  std::string aside = TRY(replace(state_->ledger, state_->ready_path()));
  for (const PartitionRecord& record : state_->disowned)
    (void)remove_partition_file(state_->ledger, record);
  (void)base::remove_flat_dir(state_->scratch());
  return aside;
}

Status Rebuilder::remove_remains(const std::string& path) {
  if (!is_there(scratch_of(path))) return {};
  Rebuilder rebuilder = TRY(enter(path));
  TRY(rebuilder.finish_earlier());
  return {};
}

}  // namespace hook::ledger
