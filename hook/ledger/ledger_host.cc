// SPDX-License-Identifier: Apache-2.0
// Whose a ledger is, and what it does on another host.
#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/internal/history.h"
#include "hook/ledger/internal/host_row.h"
#include "hook/ledger/internal/store.h"

namespace hook::ledger {

using namespace base::names;
using sqlite::Statement;
using sqlite::Step;
using sqlite::Transaction;

namespace {

Error of_another(std::string_view differs) {
  return {
      Code::kDenied,
      str("the ledger is of another host (this is one with another ", differs,
          "), so nothing is started with IPUs or released; if this host was repaired, run 'ipuctl"
          " ledger adopt-host'; if its disk is a copy of another host's, run 'ipuctl ledger"
          " rebuild'")};
}

// Returns RECORDED with what NOW knows in addition or anew.
HostWitnesses merged(HostWitnesses recorded, const HostWitnesses& now) {
  for (std::string HostWitnesses::*one :
       {&HostWitnesses::id, &HostWitnesses::machine, &HostWitnesses::board, &HostWitnesses::rnic}) {
    if (!(now.*one).empty()) recorded.*one = now.*one;
  }
  return recorded;
}

// Returns whether no copy of a disk is taken for HOST: a machine-id alone is copied with it.
bool is_certain(const HostWitnesses& host) {
  const int others = (host.board.empty() ? 0 : 1) + (host.rnic.empty() ? 0 : 1);
  return !host.id.empty() || others == 2 || (others == 1 && !host.machine.empty());
}

// Returns this boot if the ledger never held anything, else nothing.
Result<std::string> boot_of_new(sqlite::Database& database) {
  Statement used =
      TRY(database.prepare("SELECT EXISTS(SELECT 1 FROM event) OR EXISTS(SELECT 1 FROM lease)"
                           " OR EXISTS(SELECT 1 FROM partition)"));
  TRY(used.step());
  if (used.integer(0) != 0) return std::string();
  return base::boot_id();
}

}  // namespace

Status LedgerHost::be_on(const HostWitnesses& host) {
  std::optional<HostRow> row = TRY(read_host(store_.database));
  const bool is_known = row && (!difference(row->witnesses, host).empty() ||
                                row->witnesses == merged(row->witnesses, host));
  if (!is_known) {
    Transaction transaction = TRY(Transaction::begin(store_.database));
    row = TRY(read_host(store_.database));  // another process may have been first
    std::string boot = TRY(boot_of_new(store_.database));
    if (!row) row = HostRow{tag_of(host), {}, std::move(boot)};
    if (difference(row->witnesses, host).empty()) {
      row->witnesses = merged(row->witnesses, host);
      TRY(write_host(store_.database, *row));
      TRY(transaction.commit());
    }
  }
  store_.host_tag = row->tag;
  const std::string differs = difference(row->witnesses, host);
  if (!differs.empty()) store_.stranger = of_another(differs);
  store_.database.refuse_changes(store_.stranger);
  return {};
}

Result<bool> LedgerHost::is_known() { return TRY(read_host(store_.database)).has_value(); }

Status LedgerHost::check() { return store_.stranger ? Status(*store_.stranger) : Status(); }

Status LedgerHost::check_is(const HostWitnesses& host) {
  const std::optional<HostRow> row = TRY(read_host(store_.database));
  const std::string differs = row ? difference(row->witnesses, host) : std::string();
  return differs.empty() ? Status() : Status(of_another(differs));
}

Status LedgerHost::adopt(const HostWitnesses& host) {
  store_.stranger.reset();
  store_.database.refuse_changes({});
  Transaction transaction = TRY(Transaction::begin(store_.database));
  const std::string tag = tag_of(host);
  TRY(write_host(store_.database, {tag, host}));
  Event event;
  event.kind = EventKind::kNote;
  event.text = str("the ledger is of host ", tag, " from now on");
  TRY(record_event(store_, std::move(event)));
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
  if (!row || row->boot.empty() || !is_certain(row->witnesses)) return false;
  return row->boot == TRY(base::boot_id());
}

}  // namespace hook::ledger
