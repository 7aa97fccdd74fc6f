// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/internal/salvage.h"

#include <set>

#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/internal/conditions.h"
#include "hook/ledger/internal/host_row.h"
#include "hook/ledger/internal/rows.h"
#include "hook/ledger/internal/store.h"
#include "hook/ledger/ledger.h"
#include "hook/ledger/rebuilder.h"

namespace hook::ledger {
namespace {

using namespace base::names;
using sqlite::Database;
using sqlite::Statement;
using sqlite::Step;

// Reads the first column of the rows before the first unreadable one.
void read_names(Database& database, const char* sql, std::set<std::string>& names) {
  Result<Statement> row = database.prepare(sql);
  if (!row.ok()) return;
  for (;;) {
    const Result<Step> step = row.value().step();
    if (!step.ok() || step.value() == Step::kDone) return;
    names.insert(row.value().text(0));
  }
}

std::set<std::string> read_ids(Database& database) {
  std::set<std::string> ids;
  // Reads from both ends, and by another tree of pages: a hole in one hides nothing in the other.
  for (const char* sql :
       {"SELECT id FROM lease ORDER BY id", "SELECT id FROM lease ORDER BY id DESC",
        "SELECT id FROM lease INDEXED BY lease_container"}) {
    read_names(database, sql, ids);
  }
  return ids;
}

std::vector<Lease> read_leases(Database& database, const std::set<std::string>& ids) {
  std::vector<Lease> leases;
  for (const std::string& id : ids) {
    Result<std::vector<Lease>> found = select_leases(database, "id = ?", {id});
    if (!found.ok() || found.value().empty() || !is_lease_id(id)) continue;
    if (is_live(found.value().front().state)) leases.push_back(std::move(found.value().front()));
  }
  return leases;
}

// Returns the columns that TABLE has in both ledgers, with commas between.
Result<std::string> shared_columns(Database& database, const char* table) {
  Statement row = TRY(
      database.prepare("SELECT group_concat(name) FROM (SELECT name FROM pragma_table_info(?1,"
                       " 'main') INTERSECT SELECT name FROM pragma_table_info(?1, 'damaged'))"));
  TRY(row.bind(std::string_view(table)).step());
  return row.text(0);
}

// Copies the rows of TABLE for which WHERE holds, all or none.
Status copy_rows(Database& into, const char* table, const char* where = "1") {
  const std::string columns = TRY(shared_columns(into, table));
  return into.execute(str("INSERT OR IGNORE INTO ", table, "(", columns, ") SELECT ", columns,
                          " FROM damaged.", table, " WHERE ", where)
                          .c_str());
}

}  // namespace

Salvaged read_damaged(const std::string& path) {
  (void)Ledger::open(path);  // migrates it, if that is still possible
  Salvaged salvaged;
  Result<Database> database = Database::open(path, 0);
  if (!database.ok()) return salvaged;
  const std::set<std::string> ids = read_ids(database.value());
  // An index that lacks rows of its table hides them from readers of the index.
  for (const char* table :
       {"lease", "address", "ipu", "partition", "event", "refusal", "usage", "refused", "room"}) {
    (void)database.value().execute(str("REINDEX ", table).c_str());
  }
  salvaged.leases = read_leases(database.value(), ids);
  std::set<std::string> pools;
  std::set<std::string> names;
  read_names(database.value(), "SELECT DISTINCT pool FROM partition", pools);
  read_names(database.value(), "SELECT DISTINCT name FROM partition", names);
  const Result<std::optional<HostRow>> host = read_host(database.value());
  if (host.ok() && host.value()) {
    salvaged.host = host.value()->witnesses;
    salvaged.host_tag = host.value()->tag;
  }
  Store store{std::move(database).take()};
  for (const std::string& pool : pools) {
    for (const std::string& name : names) {
      Result<std::optional<PartitionRecord>> found = Partitions(store).find(pool, name);
      if (found.ok() && found.value()) salvaged.partitions.push_back(*found.value());
    }
  }
  return salvaged;
}

Taints copy_history(Database& into, const std::string& from) {
  Result<Statement> attach = into.prepare("ATTACH ? AS damaged");
  if (!attach.ok() || !attach.value().bind(from).run().ok()) return Taints::kLost;
  // Each table by itself: one that fails leaves nothing.
  (void)copy_rows(into, "lease", LEASE_HAS_ENDED);
  (void)copy_rows(into, "address", "free_at IS NOT NULL");
  (void)into.execute(
      "INSERT INTO event(rowid, lease, at_ms, event, kind, container, pool, partition, details,"
      " audited) SELECT rowid, lease, at_ms, event, kind, container, pool, partition, details,"
      " audited FROM damaged.event");
  for (const char* table : {"late_partition", "refusal", "usage", "refused", "room"})
    (void)copy_rows(into, table);
  (void)copy_rows(into, "meta",
                  "name IN ('audit', 'drained', 'own_fence', 'accounting', 'left_fleet') OR name "
                  "LIKE 'drained %'");
  const Status taints = copy_rows(into, "ipu_health");
  (void)into.execute("DETACH damaged");
  return taints.ok() ? Taints::kKept : Taints::kLost;
}

}  // namespace hook::ledger
