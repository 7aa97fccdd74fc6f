// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/reservations.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/names.h"
#include "cmd/ipuctl/queue_commands.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/partitions/partitions.h"

namespace ipuctl {

using namespace base::names;
using base::Json;
using hook::ledger::PartitionRecord;

Result<PartitionRecord> get_reservation(const Viewer& viewer, hook::ledger::Ledger& ledger,
                                        const std::string& name, const std::string& pool) {
  std::vector<PartitionRecord> found = TRY(reservations_of(ledger, pool));
  std::erase_if(found, [&](const PartitionRecord& record) {
    return record.reservation != name || !viewer.owns(record);
  });
  if (found.size() == 1) return std::move(found.front());
  if (found.empty()) {
    return Error(Code::kNotFound,
                 str("there is no reservation ", quote(name), "; see 'ipuctl reservation list'"));
  }
  return Error(Code::kInvalid,
               str("several pools have a reservation ", quote(name), "; give --pool"));
}

Status note_user(const Viewer& viewer, hook::ledger::Ledger& ledger, const char* did,
                 const std::string& reservation) {
  if (!viewer.user()) return {};
  return ledger.events().record(
      str("user ", *viewer.user(), " ", did, " reservation ", reservation));
}

namespace {

Status end_one(const Viewer& viewer, hook::lifecycle::Env& env, const PartitionRecord& record,
               bool force) {
  TRY(note_user(viewer, env.ledger, "ends", record.reservation));
  // The pool may have gone from the configuration; the record has all that matters.
  Result<hook::config::PoolConfig> configured = load_pool(record.pool);
  hook::config::PoolConfig pool;
  if (configured.ok()) pool = std::move(configured).take();
  pool.name = record.pool;
  const auto by_force = force ? vipu::Force::kYes : vipu::Force::kNo;
  TRY(hook::lifecycle::partitions::remove_partition(env, pool, record.name, by_force,
                                                    Deadline::after(pool.timeout)));
  return {};
}

Json ended_json(const PartitionRecord& record) {
  return {{"ended", record.reservation}, {"pool", record.pool}, {"ipus", record.ipus}};
}

std::string ended_text(const PartitionRecord& record) {
  return str("reservation ", record.reservation, " has ended; its ", record.ipus,
             " IPUs are free\n");
}

// Ends all reservations of an owner, of whom there may be none: an epilog runs this, maybe twice.
Result<Outcome> end_all(const Viewer& viewer, hook::lifecycle::Env& env, const Ending& which,
                        Output output) {
  std::vector<PartitionRecord> found = TRY(reservations_of(env.ledger, which.pool));
  Outcome outcome;
  Json ended = Json::array();
  for (const PartitionRecord& record : found) {
    if (record.reserved_for != which.owner || !viewer.owns(record)) continue;
    Status done = end_one(viewer, env, record, which.force);
    if (!done.ok() && done.error().code() != Code::kNotFound) {
      outcome.obstacles.push_back(std::move(done).error());
      continue;
    }
    ended.push_back(ended_json(record));
    outcome.text += ended_text(record);
  }
  if (outcome.text.empty() && outcome.obstacles.empty())
    outcome.text = str(quote(which.owner), " has no reservation\n");
  if (output == Output::kJson) outcome.text = base::to_pretty_text(ended);
  return outcome;
}

}  // namespace

Result<Outcome> end_reservations(const Viewer& viewer, const Ending& which, Output output) {
  if (which.name.empty() == which.owner.empty())
    return Error(Code::kInvalid, "give the name of a reservation, or --owner ID");
  hook::ledger::Ledger ledger = TRY(open_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  if (!which.owner.empty()) return end_all(viewer, env, which, output);
  const PartitionRecord record = TRY(get_reservation(viewer, ledger, which.name, which.pool));
  TRY(end_one(viewer, env, record, which.force));
  return Outcome{output == Output::kJson ? base::to_pretty_text(ended_json(record))
                                         : ended_text(record)};
}

}  // namespace ipuctl
