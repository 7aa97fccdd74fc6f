// SPDX-License-Identifier: Apache-2.0
// Partitions that ended processes left half made or half removed.
#include "base/names.h"
#include "base/text.h"
#include "hook/lifecycle/partitions/fleet_claims.h"
#include "hook/lifecycle/partitions/fleet_grants.h"
#include "hook/lifecycle/partitions/fleet_warm.h"
#include "hook/lifecycle/partitions/ownership.h"
#include "hook/lifecycle/partitions/partitions.h"

namespace hook::lifecycle::partitions {
namespace {

using namespace base::names;

// Forgets the leftover of a name that people gave if its controller has no such partition.
Status forget_leftover(Env& env, vipu::Controller& controller, ledger::PartitionRecord& record,
                       const Deadline& deadline, std::vector<std::string>& removed) {
  const Result<Unsure> found = look_for(controller, record, deadline);
  if (!found.ok()) {
    TRY(env.ledger.partitions().note_failure(record));
    return found.error();
  }
  if (found.value() == Unsure::kMayCome) return {};
  TRY(forget_in_fleet(env, record, deadline));
  TRY(env.ledger.partitions().finish_removal(record));
  removed.push_back(record.name);
  return {};
}

// Removes the leftover of a partition that hosts of a fleet share, unless a container has it by
// now.
Status remove_fleets(Env& env, const ledger::PartitionRecord& record, const Deadline& deadline,
                     std::vector<std::string>& removed) {
  const Result<OpenFleet> fleet = open_fleet(env, record.fleet);
  if (!fleet.ok()) {
    TRY(env.ledger.partitions().note_failure(record));
    return fleet.error();
  }
  const Status gone = finish_in_fleet(env, fleet.value(), record, deadline);
  const bool is_taken = !gone.ok() && gone.error().code() == Code::kBusy;
  if (gone.ok()) removed.push_back(record.name);
  return is_taken ? Status() : gone;
}

// If another process was faster, it decides what becomes of the partition, and nothing blocks it.
// So does a container that got an ended reservation in the last moment.
Status remove_leftover(Env& env, ledger::PartitionRecord& record, const Deadline& deadline,
                       std::vector<std::string>& removed) {
  const base::ProcessId self = TRY(base::current_process());
  const bool is_leftover = record.state != ledger::PartitionState::kReady;
  const auto controller = recorded_controller(env, record.pool, record.source);
  const Deadline limit = deadline.capped(kLongestAttempt);
  if (is_leftover && may_be_of_others(record))
    return forget_leftover(env, *controller, record, limit, removed);
  const Status taken = env.ledger.partitions().begin_removal(
      record, self, is_leftover ? vipu::Force::kYes : vipu::Force::kNo);
  if (!taken.ok() && taken.error().code() == Code::kBusy) return {};
  TRY(taken);
  if (is_fleets(record)) return remove_fleets(env, record, limit, removed);
  const Result<base::Removed> gone = controller->remove(record.name, vipu::Force::kYes, limit);
  if (!gone.ok()) {
    TRY(env.ledger.partitions().note_failure(record));
    return gone.error();
  }
  TRY(env.ledger.partitions().finish_removal(record, gone.value()));
  remove_reservation_grant(env, record);
  removed.push_back(record.name);
  return {};
}

}  // namespace

Result<std::vector<ledger::PartitionRecord>> find_leftovers(Env& env, const Scope& scope) {
  const std::string boot = TRY(base::boot_id());
  const int64_t now = base::unix_millis();
  std::set<std::string> in_use;  // "POOL/NAME"
  std::vector<ledger::PartitionRecord> records = TRY(env.ledger.partitions().all());
  for (const ledger::PartitionRecord& record : records) {
    if (!ledger::has_ended(record, now)) continue;
    if (!TRY(env.ledger.partitions().holders(record.pool, record.name)).empty())
      in_use.insert(str(record.pool, '/', record.name));
  }
  std::erase_if(records, [&](const ledger::PartitionRecord& record) {
    const bool stays =
        !ledger::has_ended(record, now) || in_use.contains(str(record.pool, '/', record.name));
    return (record.state == ledger::PartitionState::kReady && stays) || is_held(record, boot) ||
           (!scope.pool.empty() && record.pool != scope.pool) ||
           (scope.due_only && !ledger::is_due(record.retry_ms, now));
  });
  return records;
}

Result<std::vector<std::string>> reconcile_partitions(Env& env, const Deadline& deadline,
                                                      const Scope& scope,
                                                      std::vector<Error>& obstacles,
                                                      std::set<std::string>& silent) {
  std::vector<std::string> names;
  for (ledger::PartitionRecord& record : TRY(find_leftovers(env, scope))) {
    const std::string asked = is_fleets(record) ? str("fleet ", record.fleet) : record.source;
    if (silent.contains(record.source) || silent.contains(asked)) continue;
    Status removed = remove_leftover(env, record, deadline, names);
    if (removed.ok()) continue;
    if (is_silence(removed.error())) silent.insert(asked);
    obstacles.push_back(std::move(removed).error());
  }
  return names;
}

}  // namespace hook::lifecycle::partitions
