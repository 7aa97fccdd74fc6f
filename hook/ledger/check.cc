// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/check.h"

#include <iterator>

#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/internal/conditions.h"
#include "hook/ledger/internal/rows.h"
#include "hook/ledger/internal/schema.h"
#include "hook/ledger/internal/store.h"
#include "hook/ledger/partitions.h"
#include "hook/ledger/queue.h"

namespace hook::ledger {
namespace {

using namespace base::names;
using sqlite::Database;
using sqlite::Statement;
using sqlite::Step;

constexpr int kCheckMs = 1000;
constexpr std::string_view kRebuild = "run 'ipuctl ledger rebuild'";

// A rule whose query finds forbidden rows. The first column names each of them.
struct Rule {
  std::string_view subject;  // "lease"
  std::string_view says;
  const char* sql;
};

#define ATTACHED "state IN ('ALLOCATED', 'RUNNING') AND attachment <> ''"

constexpr Rule kRules[] = {
    {"lease", "the id is not valid",
     "SELECT quote(id) FROM lease WHERE length(id) <> 32 OR id GLOB '*[^0-9a-f]*'"},
    {"lease", "its generation is not possible in its state",
     "SELECT id FROM lease WHERE generation < (state <> 'INTENT')"},
    {"lease", "its number of GCDs is not possible", "SELECT id FROM lease WHERE gcds < 1"},
    {"lease", "another live lease holds its partition too",
     "SELECT id FROM lease AS one WHERE " LEASE_GCDS_ARE_TAKEN("one")},
    {"lease", "it joined a partition that no live lease holds",
     "SELECT id FROM lease AS one WHERE state IN ('INTENT', 'ALLOCATED', 'RUNNING')"
     " AND origin = 'JOINED' AND NOT EXISTS (SELECT 1 FROM lease AS holder WHERE "
     "holder." LEASE_IS_LIVE " AND holder.pool = one.pool AND holder.partition = one.partition"
     " AND holder.gcd = one.gcd AND holder.gcds = one.gcds"
     " AND holder.origin <> 'JOINED')"},
    {"lease", "it does not hold the IPUs that it was granted",
     "SELECT id FROM lease WHERE state IN ('ALLOCATED', 'RUNNING') AND origin <> 'JOINED'"
     " AND ipus <> (SELECT COUNT(*) FROM ipu WHERE ipu.lease = lease.id)"},
    {"lease", "it has interfaces, but holds no address for them",
     "SELECT id FROM lease WHERE " ATTACHED
     " AND NOT EXISTS (SELECT 1 FROM address WHERE address.lease = lease.attachment"
     " AND free_at IS NULL)"},
    {"lease", "it is RUNNING with interfaces, but has no network namespace",
     "SELECT id FROM lease WHERE state = 'RUNNING' AND attachment <> ''"
     " AND (netns_cookie = 0 OR netns_inode = 0 OR netns_id < 0 OR host_netns_cookie = 0)"},
    {"lease", "it is RUNNING, but has no owner process",
     "SELECT id FROM lease WHERE state = 'RUNNING' AND (owner_pid <= 0 OR boot_id = '')"},
    {"address", "it is held, but not by a live lease",
     "SELECT hex(address) FROM address WHERE free_at IS NULL AND NOT EXISTS"
     " (SELECT 1 FROM lease WHERE lease.attachment = address.lease AND " LEASE_IS_LIVE ")"},
    {"address", "another address has the same MAC",
     "SELECT hex(address) FROM address WHERE free_at IS NULL AND mac IN"
     " (SELECT mac FROM address WHERE free_at IS NULL GROUP BY mac HAVING COUNT(*) > 1)"},
    {"address", "another address has the same function",
     "SELECT hex(address) FROM address WHERE free_at IS NULL AND kind = 'FUNCTION' AND parent IN"
     " (SELECT parent FROM address WHERE free_at IS NULL AND kind = 'FUNCTION'"
     " GROUP BY parent HAVING COUNT(*) > 1)"},
    {"IPU", "it is held, but not by a live lease",
     "SELECT hex(address) || ' ' || device FROM ipu WHERE NOT EXISTS"
     " (SELECT 1 FROM lease WHERE lease.id = ipu.lease AND " LEASE_IS_LIVE
     " AND origin <> 'JOINED')"},
    {"IPU", "it is held twice",
     "SELECT hex(address) || ' ' || device FROM ipu GROUP BY pool, address, device"
     " HAVING COUNT(*) > 1 AND MIN(shared) = 0"},
    {"partition", "its number of GCDs or IPUs is not possible",
     "SELECT name FROM partition WHERE gcds < 1 OR ipus < gcds OR ipus % gcds <> 0"},
    {"partition", "the lease that resets it is not live",
     "SELECT name FROM partition WHERE resetter <> '' AND NOT EXISTS"
     " (SELECT 1 FROM lease WHERE lease.id = partition.resetter AND " LEASE_IS_LIVE ")"},
    {"endpoint", "its lease is not live",
     "SELECT lease FROM endpoint WHERE NOT EXISTS"
     " (SELECT 1 FROM lease WHERE lease.id = endpoint.lease AND " LEASE_IS_LIVE ")"},
    {"meta", "the oldest schema whose programs may write the ledger is missing or not valid",
     "SELECT 'compatible_from' WHERE NOT EXISTS (SELECT 1 FROM meta"
     " WHERE name = 'compatible_from' AND CAST(value AS INTEGER) BETWEEN 1 AND"
     " (SELECT user_version FROM pragma_user_version))"},
};

#undef LIVE
#undef ATTACHED

void add(std::vector<Flaw>& flaws, std::string says) {
  const bool says_it = says.find(kRebuild) != std::string::npos;
  flaws.push_back({Gravity::kError, std::move(says), says_it ? "" : std::string(kRebuild)});
}

// Returns the first column of all rows of SQL.
Result<std::vector<std::string>> column(Database& database, const char* sql) {
  std::vector<std::string> values;
  Statement row = TRY(database.prepare(sql));
  while (TRY(row.step()) == Step::kRow) values.push_back(row.text(0));
  return values;
}

Status check_pages(Database& database, std::vector<Flaw>& flaws) {
  for (const std::string& line : TRY(column(database, "PRAGMA integrity_check(20)"))) {
    if (line != "ok") add(flaws, base::one_line(str("the database: ", line), 500));
  }
  return {};
}

Status check_rules(Database& database, std::vector<Flaw>& flaws) {
  for (const Rule& rule : kRules) {
    for (const std::string& subject : TRY(column(database, rule.sql))) {
      add(flaws, str(rule.subject, " ", subject, ": ", rule.says));
    }
  }
  return {};
}

// Reads each row by itself, so that an unreadable row hides no other.
Status check_rows(Database& database, std::vector<Flaw>& flaws) {
  for (const std::string& id : TRY(column(database, "SELECT id FROM lease"))) {
    const Result<std::vector<Lease>> lease = select_leases(database, "id = ?", {id});
    if (!lease.ok()) add(flaws, str("lease ", id, ": ", lease.error().message()));
  }
  return {};
}

// Reads the partitions and the queue with the functions that all programs use.
void check_lists(Store& store, std::vector<Flaw>& flaws) {
  const auto partitions = Partitions(store).all();
  if (!partitions.ok()) add(flaws, partitions.error().message());
  const auto waiters = Queue(store).list();
  if (!waiters.ok()) add(flaws, waiters.error().message());
}

Result<int64_t> version_of(Database& database) {
  Statement row = TRY(database.prepare("PRAGMA user_version"));
  TRY(row.step());
  return row.integer(0);
}

void add_other_version(int64_t version, int64_t newest, std::vector<Flaw>& flaws) {
  if (version == 0) return add(flaws, "the database is empty");
  const bool is_older = version < newest;
  flaws.push_back(
      {is_older ? Gravity::kNote : Gravity::kError,
       str("the ledger has schema ", version, ", but this program checks only schema ", newest),
       is_older ? "the next program that opens the ledger migrates it"
                : "use the version of ipuctl that wrote the ledger"});
}

Status check_store(Store& store, std::vector<Flaw>& flaws) {
  // A transaction, so that concurrent changes do not show.
  TRY(store.database.execute("BEGIN"));
  TRY(check_pages(store.database, flaws));

  const int64_t version = TRY(version_of(store.database));
  if (version != kNewestVersion) {
    add_other_version(version, kNewestVersion, flaws);
    return {};
  }
  TRY(check_rules(store.database, flaws));
  TRY(check_rows(store.database, flaws));
  check_lists(store, flaws);
  return {};
}

}  // namespace

std::string_view name_of(Gravity gravity) { return gravity == Gravity::kNote ? "note" : "error"; }

Result<std::vector<Flaw>> check_ledger(const std::string& path) {
  std::vector<Flaw> flaws;
  const auto look = [&]() -> Status {
    Database database = TRY(Database::open_to_read(path, kCheckMs));
    Store store{std::move(database)};
    return check_store(store, flaws);
  };
  const Status checked = look();
  if (checked.ok()) return flaws;
  // Any other error is temporary or not the ledger's fault.
  if (checked.error().code() != Code::kInternal) return checked.error();
  add(flaws, checked.error().message());
  return flaws;
}

Result<int64_t> schema_of(const std::string& path) {
  Database database = TRY(Database::open_to_read(path, kCheckMs));
  return version_of(database);
}

Status check_known(const std::string& path) {
  Result<Database> database = Database::open_to_read(path, kCheckMs);
  if (!database.ok()) return {};
  const Result<int64_t> version = version_of(database.value());
  if (!version.ok() || version.value() <= kNewestVersion) return {};
  return Error(Code::kUnsupported,
               str("ledger: written by a newer version of ipu-container-toolkit (schema ",
                   version.value(), ", this one knows ", kNewestVersion, "); use that version"));
}

}  // namespace hook::ledger
