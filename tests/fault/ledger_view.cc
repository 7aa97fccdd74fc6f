// SPDX-License-Identifier: Apache-2.0
#include "tests/fault/ledger_view.h"

#include <sqlite3.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <functional>
#include <memory>

#include "base/names.h"
#include "base/text.h"
#include "tests/fault/ledger_edit.h"

namespace fault {
namespace {

using namespace base::names;

struct Close {
  void operator()(sqlite3* database) const { (void)sqlite3_close(database); }
  void operator()(sqlite3_stmt* statement) const { (void)sqlite3_finalize(statement); }
};
using LedgerDatabase = std::unique_ptr<sqlite3, Close>;
using Rows = std::vector<std::vector<std::string>>;

Result<LedgerDatabase> open_ledger(const std::string& path) {
  sqlite3* raw = nullptr;
  const int rc = sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE, nullptr);
  LedgerDatabase database(raw);
  if (rc == SQLITE_OK) return database;
  return Error(Code::kInternal, str("open the copy of the ledger: ", sqlite3_errstr(rc)));
}

// All columns of all rows; blobs as hexadecimal.
Result<Rows> query(sqlite3* database, const std::string& sql) {
  sqlite3_stmt* raw = nullptr;
  const int prepared = sqlite3_prepare_v2(database, sql.c_str(), -1, &raw, nullptr);
  const std::unique_ptr<sqlite3_stmt, Close> statement(raw);
  if (prepared != SQLITE_OK) {
    return Error(Code::kInternal, str("ledger: ", sqlite3_errmsg(database), ": ", sql));
  }
  Rows rows;
  int step = SQLITE_ROW;
  while ((step = sqlite3_step(raw)) == SQLITE_ROW) {
    std::vector<std::string> row;
    for (int i = 0; i < sqlite3_column_count(raw); ++i) {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(raw, i));
      row.emplace_back(text == nullptr ? "" : text);
    }
    rows.push_back(std::move(row));
  }
  if (step == SQLITE_DONE) return rows;
  return Error(Code::kInternal, str("ledger: ", sqlite3_errmsg(database), ": ", sql));
}

Status read_leases(sqlite3* database, LedgerView& view) {
  const Rows rows =
      TRY(query(database,
                "SELECT id, container, partition, state, attachment, error, owner_pid, claim,"
                " origin FROM lease ORDER BY created_ms"));
  for (const auto& row : rows) {
    const bool live = row[3] != "FREE" && row[3] != "FAILED";
    view.leases.push_back({row[0], row[1], row[2], row[3], row[4], row[5], live,
                           base::parse_int<pid_t>(row[6], 0, INT_MAX).value(), row[7], row[8]});
  }
  return {};
}

Status read_rest(sqlite3* database, LedgerView& view) {
  for (const auto& row :
       TRY(query(database, "SELECT lease, parent, interface, mac, free_at IS NULL FROM address"))) {
    view.addresses.push_back({row[0], row[1], row[2], row[3], row[4] == "1"});
  }
  for (const auto& row : TRY(query(database, "SELECT name, kind, state, fleet FROM partition"))) {
    view.partitions.push_back({row[0], row[1], row[2], row[3]});
  }
  for (const auto& row : TRY(query(database, "SELECT pid, lease FROM endpoint"))) {
    const LeaseRow* const lease = view.find(row[1]);
    if (lease != nullptr && lease->live) view.endpoints.push_back(row[0]);
    ++view.endpoint_rows;
  }
  view.waiters = TRY(query(database, "SELECT 1 FROM waiter")).size();
  view.ipus_elsewhere =
      TRY(query(database, str("SELECT 1 FROM ipu WHERE device >= ", kElsewhere))).size();
  return {};
}

constexpr const char* kLive = "state NOT IN ('FREE', 'FAILED')";

Status find_doubles(sqlite3* database, LedgerView& view) {
  const std::string sqls[] = {
      str("SELECT 'partition ' || partition FROM lease WHERE ", kLive,
          " AND origin = 'OWN' GROUP BY pool, partition HAVING count(*) > 1"),
      "SELECT 'address ' || hex(address) FROM address WHERE free_at IS NULL"
      " GROUP BY address HAVING count(*) > 1",
      "SELECT 'MAC ' || mac FROM address WHERE free_at IS NULL GROUP BY mac HAVING count(*) > 1",
      str("SELECT 'IPU ' || hex(address) || '/' || device FROM ipu WHERE shared = 0 AND lease IN"
          " (SELECT id FROM lease WHERE ",
          kLive,
          ") GROUP BY pool, address, device"
          " HAVING count(*) > 1")};
  for (const std::string& sql : sqls) {
    for (const auto& row : TRY(query(database, sql))) view.doubles.push_back(row[0]);
  }
  return {};
}

Status copy_ledger(const std::string& state_dir, const std::string& scratch) {
  std::error_code err;
  std::filesystem::remove_all(scratch, err);
  std::filesystem::create_directories(scratch, err);
  for (const char* name : {"ledger.db", "ledger.db-wal", "ledger.db-journal"}) {
    const std::string from = str(state_dir, "/", name);
    if (!std::filesystem::exists(from, err)) continue;
    std::filesystem::copy_file(from, str(scratch, "/", name), err);
    if (err) return Error::from_errno(err.value(), str("copy ", from));
  }
  return {};
}

}  // namespace

const LeaseRow* LedgerView::find(const std::string& id) const {
  const auto row = std::find_if(leases.begin(), leases.end(),
                                [&](const LeaseRow& lease) { return lease.id == id; });
  return row == leases.end() ? nullptr : &*row;
}

const LeaseRow* LedgerView::of_container(const std::string& container) const {
  const auto row = std::find_if(leases.rbegin(), leases.rend(), [&](const LeaseRow& lease) {
    return lease.container == container;
  });
  return row == leases.rend() ? nullptr : &*row;
}

bool LedgerView::leads_to_mac(const std::string& mac) const {
  return std::any_of(addresses.begin(), addresses.end(), [&](const AddressRow& address) {
    return address.held && address.mac == mac &&
           std::any_of(leases.begin(), leases.end(), [&](const LeaseRow& lease) {
             return lease.live && lease.attachment == address.lease;
           });
  });
}

bool LedgerView::leads_to_partition(const std::string& name) const {
  return std::any_of(
             leases.begin(), leases.end(),
             [&](const LeaseRow& lease) { return lease.live && lease.partition == name; }) ||
         std::any_of(partitions.begin(), partitions.end(),
                     [&](const PartitionRow& row) { return row.name == name; });
}

Result<std::optional<LedgerView>> read_ledger(const std::string& state_dir,
                                              const std::string& scratch) {
  TRY(copy_ledger(state_dir, scratch));
  const std::string path = str(scratch, "/ledger.db");
  if (!std::filesystem::exists(path)) return std::optional<LedgerView>();
  const LedgerDatabase database = TRY(open_ledger(path));
  LedgerView view;
  view.integrity = TRY(query(database.get(), "PRAGMA integrity_check")).front().front();
  const Rows tables = TRY(query(database.get(), "SELECT 1 FROM sqlite_schema"));
  if (tables.empty()) return std::optional<LedgerView>();
  TRY(read_leases(database.get(), view));
  TRY(read_rest(database.get(), view));
  TRY(find_doubles(database.get(), view));
  return std::optional<LedgerView>(std::move(view));
}

Result<std::string> dump_lease(const std::string& ledger, const std::string& id) {
  const LedgerDatabase database = TRY(open_ledger(ledger));
  std::string text;
  for (const char* sql : {"SELECT * FROM lease WHERE id = '", "SELECT * FROM event WHERE lease = '",
                          "SELECT hex(address), * FROM address WHERE lease = '",
                          "SELECT hex(address), device, server_port, rdma_port, shared FROM ipu"
                          " WHERE lease = '"}) {
    for (const auto& row : TRY(query(database.get(), str(sql, id, "'")))) {
      text += base::join(row, "|") + "\n";
    }
  }
  return text;
}

}  // namespace fault
