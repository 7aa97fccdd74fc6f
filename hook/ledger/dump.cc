// SPDX-License-Identifier: Apache-2.0
// Dumps the whole ledger as one JSON object, for programs. Its keys are those of ipuctl(8) and do
// not change.
#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/internal/sqlite.h"
#include "hook/ledger/internal/store.h"
#include "hook/ledger/ledger.h"

namespace hook::ledger {
namespace {

using base::Json;
using namespace base::names;
using sqlite::Database;
using sqlite::Statement;
using sqlite::Step;

struct Part {
  const char* key;
  const char* columns;
  const char* from;
};

constexpr Part kParts[] = {
    {"leases",
     "id, container, bundle, tenant, pool, controller, partition, gcd, gcds, origin, ipus, state,"
     " generation, owner_pid, owner_start, owner_pid_namespace, boot_id, netns_device, netns_inode,"
     " netns_cookie, netns_id, host_netns_cookie, attachment, prohibited, state_dir, cgroup, error,"
     " obstacle, attempts, retry_ms, quarantine_until_ms, created_ms, changed_ms,"
     " allocated_ms, asked_ms, user, claim, fleet",
     "lease ORDER BY created_ms, id"},
    {"addresses",
     "address, lease, kind, parent, rdma_device, mode, mtu, interface, mac, subnet, peers,"
     " duplicate_mac, by_ipu, free_at",
     "address ORDER BY address"},
    {"ipus", "pool, address, device, server_port, rdma_port, lease, shared",
     "ipu ORDER BY pool, address, device, lease"},
    {"partitions",
     "pool, name, source, kind, state, ipus, gcds, shared, reconfigurable, dirty, resetter,"
     " owner_pid, owner_start, owner_pid_namespace, boot_id, created_ms, attempts, retry_ms,"
     " reservation, until_ms, reserved_for, user, tenant, fleet",
     "partition ORDER BY pool, name"},
    {"waiters",
     "ticket, resource, container, bundle, ipus, owner_pid, owner_start, owner_pid_namespace, "
     "boot_id,"
     " since_ms, until_ms, user, tenant",
     "waiter ORDER BY ticket"},
    {"usage", "day, tenant, user, pool, held, reserved, starts, waits, measured, busy",
     "usage ORDER BY day, tenant, user, pool"},
    {"refused", "day, tenant, user, pool, cause, count",
     "refused ORDER BY day, tenant, user, pool, cause"},
    {"rooms", "day, pool, measured_ms, free, largest, worst_ms, worst_free, worst_largest",
     "room ORDER BY day, pool"},
    {"endpoints", "lease, pid, start, pid_namespace, boot_id, attempts, retry_ms",
     "endpoint ORDER BY lease"},
    {"events", "rowid AS number, at_ms, lease, container, pool, partition, kind, event, details",
     "event ORDER BY rowid"},
    {"refusals", "pool, tenant, user, kind, count, first_ms, last_ms, container, error, leases",
     "refusal ORDER BY pool, tenant, user, kind"},
};

// Returns a cell as JSON. A column with bytes is an address.
Result<Json> read_cell(const Statement& row, int column) {
  switch (row.type(column)) {
    case sqlite::Type::kNull:
      return Json();
    case sqlite::Type::kInteger:
      return Json(row.integer(column));
    case sqlite::Type::kText:
      return Json(row.text(column));
    case sqlite::Type::kBlob:
      break;
  }
  const netns::Address address = TRY(read_address(row, column));
  return Json(netns::to_string(address));
}

Result<Json> read_part(Database& database, const Part& part) {
  Json objects = Json::array();
  Statement row = TRY(database.prepare(str("SELECT ", part.columns, " FROM ", part.from)));
  while (TRY(row.step()) == Step::kRow) {
    Json object = Json::object();
    for (int column = 0; column < row.columns(); ++column) {
      object[row.name(column)] = TRY(read_cell(row, column));
    }
    objects.push_back(std::move(object));
  }
  return objects;
}

Result<Json> read_all(Database& database) {
  Statement version = TRY(database.prepare("PRAGMA user_version"));
  TRY(version.step());
  Json dump = {{"schema", version.integer(0)}};
  for (const Part& part : kParts) dump[part.key] = TRY(read_part(database, part));
  for (Json& event : dump["events"]) {
    const Result<Json> details = base::parse_json(event["details"].get<std::string>(), "details");
    event["details"] = details.ok() ? details.value() : Json::object();
  }
  dump["meta"] = Json::object();
  Statement row = TRY(database.prepare("SELECT name, value FROM meta ORDER BY name"));
  while (TRY(row.step()) == Step::kRow) dump["meta"][row.text(0)] = row.text(1);
  return dump;
}

}  // namespace

Result<std::string> Ledger::dump() {
  // One read transaction, so that the parts are consistent.
  TRY(store_->database.execute("SAVEPOINT dump"));
  const Result<Json> all = read_all(store_->database);
  TRY(store_->database.execute("RELEASE dump"));
  if (!all.ok()) return all.error();
  return base::to_pretty_text(all.value());
}

}  // namespace hook::ledger
