// SPDX-License-Identifier: Apache-2.0
// Whose a ledger is, and what it does on another host.
#include <vector>

#include "base/names.h"
#include "base/text.h"
#include "hook/config/paths.h"
#include "hook/ledger/internal/history.h"
#include "hook/ledger/internal/host_row.h"
#include "hook/ledger/internal/store.h"

namespace hook::ledger {

using namespace base::names;
using sqlite::Statement;
using sqlite::Step;
using sqlite::Transaction;

namespace {

constexpr const char* kMarkRow = "ledger: meta 'fleet_mark'";
const std::string kNoImport = "-";

// A host that gets another tag has made no mark yet.
std::string mark_of(const std::string& tag, const std::string& id, const std::string& prefix) {
  return str(' ', tag, ' ', id, ' ', prefix);
}

Error of_another(std::string_view differs) {
  return {Code::kDenied, str("the ledger is of another host (this is one with another ", differs,
                             "), so nothing is started with IPUs or released; if [host] id was "
                             "changed, set it back; if"
                             " this host was repaired, run 'ipuctl ledger adopt-host'; if its disk "
                             "is a copy of another"
                             " host's, run 'ipuctl ledger rebuild'")};
}

// Returns RECORDED with what NOW knows in addition or anew.
HostWitnesses merged(HostWitnesses recorded, const HostWitnesses& now) {
  for (std::string HostWitnesses::*one :
       {&HostWitnesses::id, &HostWitnesses::machine, &HostWitnesses::board, &HostWitnesses::rnic}) {
    if (!(now.*one).empty()) recorded.*one = now.*one;
  }
  return recorded;
}

// Returns whether the ledger never held anything, as one that a golden image brings.
Result<bool> is_unused(sqlite::Database& database) {
  Statement used =
      TRY(database.prepare("SELECT EXISTS(SELECT 1 FROM lease) OR EXISTS(SELECT 1 FROM partition)"
                           " OR EXISTS(SELECT 1 FROM late_partition)"));
  TRY(used.step());
  return used.integer(0) == 0;
}

}  // namespace

Status LedgerHost::be_on(const HostWitnesses& host) {
  std::optional<HostRow> row = TRY(read_host(store_.database));
  std::string differs = row ? difference(row->witnesses, host) : std::string();
  if (!differs.empty() && TRY(is_unused(store_.database))) differs.clear();
  const bool is_news = !row || merged(row->witnesses, host) != row->witnesses;
  if (differs.empty() && is_news) {
    const Status recorded = record(host);
    // A ledger on a full disk must release what it holds. The next open records it then.
    const bool may_wait = recorded.ok() || sqlite::is_full(recorded.error()) ||
                          recorded.error().code() == Code::kBusy;
    if (!may_wait) return recorded;
    row = TRY(read_host(store_.database));
  }
  store_.host_tag = row ? row->tag : TRY(new_tag(host));
  if (!differs.empty()) store_.stranger = of_another(differs);
  store_.database.refuse_changes(store_.stranger);
  return {};
}

Status LedgerHost::record(const HostWitnesses& host) {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  std::optional<HostRow> row = TRY(read_host(store_.database));  // another process may be first
  const bool is_new = TRY(is_unused(store_.database));
  if (!row || (is_new && !difference(row->witnesses, host).empty())) {
    std::string boot;
    if (is_new && is_certain(host)) boot = TRY(base::boot_id());
    std::string tag = TRY(new_tag(host));
    row = HostRow{std::move(tag), {}, std::move(boot)};
  }
  row->witnesses = merged(row->witnesses, host);
  TRY(write_host(store_.database, *row));
  return transaction.commit();
}

Result<bool> LedgerHost::needs_id() {
  const std::optional<HostRow> row = TRY(read_host(store_.database));
  return !row || !row->witnesses.id.empty();
}

Status LedgerHost::check() { return store_.stranger ? Status(*store_.stranger) : Status(); }

Status LedgerHost::check_is(const HostWitnesses& host) {
  const std::optional<HostRow> row = TRY(read_host(store_.database));
  const std::string differs = row ? difference(row->witnesses, host) : std::string();
  return differs.empty() ? Status() : Status(of_another(differs));
}

Status LedgerHost::adopt(const HostWitnesses& host) {
  store_.stranger.reset();
  store_.database.refuse_changes({});
  const std::string tag = TRY(new_tag(host));
  Transaction transaction = TRY(Transaction::begin(store_.database));
  TRY(write_host(store_.database, {tag, host}));
  TRY(record_note(store_, str("the ledger is of host ", tag, " from now on")));
  TRY(commit(store_, transaction));
  store_.host_tag = tag;
  return {};
}

Result<std::optional<HostWitnesses>> recorded_host(const std::string& path) {
  using Host = std::optional<HostWitnesses>;
  sqlite::Database database = TRY(sqlite::Database::open_to_read(path, 0));
  const std::optional<HostRow> row = TRY(read_host(database));
  return row ? Host(row->witnesses) : Host();
}

const std::string& LedgerHost::tag() const { return store_.host_tag; }

Result<bool> LedgerHost::is_of_this_boot() {
  const std::optional<HostRow> row = TRY(read_host(store_.database));
  return row && !row->boot.empty() && row->boot == TRY(base::boot_id());
}

// Returns the id of the fleet below PREFIX that the row NAME has; empty: none.
Result<std::string> LedgerHost::read_fleet(const char* name, const std::string& prefix) {
  Statement row = TRY(store_.database.prepare("SELECT value FROM meta WHERE name = ?"));
  row.bind(name);
  if (TRY(row.step()) == Step::kDone) return std::string();
  const std::string value = row.text(0);  // "ID PREFIX"
  const size_t space = value.find(' ');
  const bool is_it = space != std::string::npos && value.substr(space + 1) == prefix;
  return is_it ? value.substr(0, space) : std::string();
}

Result<std::string> LedgerHost::fleet_id(const std::string& prefix) {
  return read_fleet("fleet", prefix);
}

Result<std::string> LedgerHost::left_fleet(const std::string& prefix) {
  return read_fleet("left_fleet", prefix);
}

Status LedgerHost::join_fleet(const std::string& prefix, const std::string& id) {
  if (TRY(fleet_id(prefix)) == id) return {};
  Transaction transaction = TRY(Transaction::begin(store_.database));
  Statement row =
      TRY(store_.database.prepare("INSERT OR REPLACE INTO meta(name, value) VALUES('fleet', ?)"));
  TRY(row.bind(str(id, ' ', prefix)).run());
  TRY(store_.database.execute("DELETE FROM meta WHERE name = 'left_fleet'"));
  TRY(record_note(store_, str("joined the fleet ", id, " below ", prefix)));
  return commit(store_, transaction);
}

Status LedgerHost::begin_leaving() {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  TRY(
      store_.database.execute("INSERT OR REPLACE INTO meta(name, value)"
                              " SELECT 'left_fleet', value FROM meta WHERE name = 'fleet'"));
  if (store_.database.changes() == 0) return {};
  TRY(record_note(store_, "leaves the fleet"));
  return commit(store_, transaction);
}

Status LedgerHost::check_in(const std::string& prefix) {
  const std::string left = TRY(left_fleet(prefix));
  const std::string id = TRY(fleet_id(prefix));
  if (left.empty() || (!id.empty() && id != left)) return {};
  if (!id.empty()) {
    return Error(
        Code::kDenied,
        str("fleet: this host has begun to leave fleet ", left, " below ", prefix,
            ", and the leave has not ended; run 'ipuctl fleet leave' again, or 'ipuctl fleet join'"
            " to stay"));
  }
  return Error(Code::kDenied, str("fleet: this host has left fleet ", left, " below ", prefix,
                                  "; take [fleet] out of ", config::config_file(),
                                  ", or run 'ipuctl fleet join' to be in it again"));
}

Status LedgerHost::come_back() {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  TRY(store_.database.execute("DELETE FROM meta WHERE name = 'left_fleet'"));
  if (store_.database.changes() == 0) return {};
  TRY(record_note(store_, "may join the fleet again that it left"));
  return commit(store_, transaction);
}

Status LedgerHost::leave_fleet() {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  TRY(store_.database.execute("DELETE FROM meta WHERE name IN ('fleet', 'fleet_mark')"));
  if (store_.database.changes() == 0) return {};
  TRY(record_note(store_, "left the fleet"));
  return commit(store_, transaction);
}

Result<FleetMark> LedgerHost::fleet_mark(const std::string& prefix, const std::string& id) {
  Statement row = TRY(store_.database.prepare("SELECT value FROM meta WHERE name = 'fleet_mark'"));
  if (TRY(row.step()) == Step::kDone) return FleetMark();
  // "REVISION RESTORES IMPORT TAG ID PREFIX". Before there were words for imports: without IMPORT.
  const std::string value = row.text(0);
  const std::string whose = mark_of(store_.host_tag, id, prefix);
  if (!value.ends_with(whose)) return FleetMark();
  const std::vector<std::string_view> words =
      base::split(std::string_view(value).substr(0, value.size() - whose.size()), ' ');
  if (words.size() < 2) return FleetMark();
  FleetMark mark;
  mark.revision = TRY_CTX(kMarkRow, base::parse_int<int64_t>(words[0], 0, INT64_MAX));
  mark.restores = TRY_CTX(kMarkRow, base::parse_int<int64_t>(words[1], 0, INT64_MAX));
  if (words.size() > 2 && words[2] != kNoImport) mark.import = words[2];
  return mark;
}

Status LedgerHost::keep_fleet_mark(const std::string& prefix, const std::string& id,
                                   const FleetMark& mark) {
  const std::string whose = mark_of(store_.host_tag, id, prefix);
  const std::string& import = mark.import.empty() ? kNoImport : mark.import;
  const std::string value = str(mark.revision, ' ', mark.restores, ' ', import, whose);
  Transaction transaction = TRY(Transaction::begin(store_.database));
  Statement row = TRY(
      store_.database.prepare("INSERT OR REPLACE INTO meta(name, value) VALUES('fleet_mark', ?)"));
  TRY(row.bind(value).run());
  return transaction.commit();
}

}  // namespace hook::ledger
