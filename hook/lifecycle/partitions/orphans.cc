// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/partitions/orphans.h"

#include <utility>

#include "base/names.h"
#include "hook/lifecycle/open_fleet.h"
#include "hook/lifecycle/partitions/fleet_warm.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "vipu/made_name.h"

namespace hook::lifecycle::partitions {
namespace {

using namespace base::names;

constexpr std::chrono::milliseconds kQueryTime{5000};  // for one question to a controller

// Returns the fleet that kept partition NAME warm; nothing if this host is not in it any more.
Result<std::optional<OpenFleet>> fleet_of(const Env& env, const std::string& name) {
  std::optional<OpenFleet> fleet = TRY(open_fleet(env));
  const auto made = vipu::parse_made_name(name);
  const bool is_its = fleet && made && made->host == fleet->id.substr(0, vipu::kHostDigits);
  return is_its ? std::move(fleet) : std::nullopt;
}

// Returns whether the fleet knows nobody who has the partition of RECORD, which it kept warm, or
// cannot be asked any more. False while it is silent.
bool is_forgotten(const Env& env, const ledger::PartitionRecord& record, const Deadline& deadline,
                  std::set<std::string>& silent) {
  const Result<std::optional<OpenFleet>> fleet = fleet_of(env, record.name);
  if (!fleet.ok()) return false;
  if (!fleet.value()) return true;
  const std::string asked = str("fleet ", fleet.value()->config.prefix);
  if (silent.contains(asked)) return false;
  const Result<fleet::WarmFate> fate =
      fleet::warm_fate(fleet.value()->at(deadline.capped(kQueryTime)), record.pool, record.name,
                       env.ledger.host().tag());
  if (!fate.ok() && is_silence(fate.error())) silent.insert(asked);
  return fate.ok() && fate.value() == fleet::WarmFate::kNobody;
}

// Has the fleet give the partition of RECORD to nobody else. Fails if a container of another host
// may have it.
Status begin_end(const Env& env, const ledger::PartitionRecord& record, const Deadline& deadline) {
  if (!vipu::is_of_fleet(record.name)) return {};
  const std::optional<OpenFleet> fleet = TRY(fleet_of(env, record.name));
  if (!fleet)
    return Error(Code::kUnsupported,
                 str("partition ", quote(record.name), " of pool ", quote(record.pool),
                     " belongs to a fleet that this host is not in; run 'ipuctl ps' on each host of"
                     " that fleet; if none shows the partition, run Graphcore's 'vipu-admin remove"
                     " partition ",
                     record.name, "'"));
  const Removable removable =
      TRY(begin_end_of_taken(env, *fleet, record.pool, record.name, "", deadline));
  if (removable == Removable::kYes) return {};
  return Error(Code::kBusy, str("partition ", quote(record.name), " of pool ", quote(record.pool),
                                " was taken meanwhile"));
}

// Returns the partitions of FROM that the controller has after the leases that had them.
Result<std::vector<ledger::PartitionRecord>> that_are_there(Env& env,
                                                            const ledger::PartitionSource& from,
                                                            const Deadline& deadline,
                                                            std::set<std::string>& silent) {
  std::vector<ledger::PartitionRecord> there;
  const auto controller = recorded_controller(env, from.pool, from.source);
  const Result<std::vector<vipu::Partition>> listed = controller->list(deadline.capped(kQueryTime));
  if (!listed.ok()) {
    silent.insert(from.source);
    return there;
  }
  // The controller has few partitions, but the ledger may have very many ended leases.
  for (const vipu::Partition& partition : listed.value()) {
    if (!TRY(env.ledger.partitions().is_late(from, partition.id))) continue;
    ledger::PartitionRecord record;
    record.pool = from.pool;
    record.source = from.source;
    record.name = partition.id;
    if (vipu::is_of_fleet(partition.id) && !is_forgotten(env, record, deadline, silent)) continue;
    there.push_back(std::move(record));
  }
  return there;
}

}  // namespace

Result<std::vector<ledger::PartitionRecord>> find_late_partitions(Env& env,
                                                                  const Deadline& deadline,
                                                                  std::set<std::string>& silent) {
  std::vector<ledger::PartitionRecord> late;
  for (const ledger::PartitionSource& from : TRY(env.ledger.partitions().late_sources())) {
    if (silent.contains(from.source)) continue;
    for (ledger::PartitionRecord& record : TRY(that_are_there(env, from, deadline, silent))) {
      late.push_back(std::move(record));
    }
  }
  return late;
}

// The next call finds again what cannot be removed now.
Result<std::vector<std::string>> remove_late_partitions(Env& env, const Deadline& deadline,
                                                        std::set<std::string>& silent,
                                                        std::vector<Error>& obstacles) {
  std::vector<std::string> names;
  for (const ledger::PartitionRecord& record : TRY(find_late_partitions(env, deadline, silent))) {
    Status begun = begin_end(env, record, deadline);
    if (!begun.ok() && begun.error().code() != Code::kBusy)
      obstacles.push_back(std::move(begun).error());
    if (!begun.ok()) continue;
    const auto controller = recorded_controller(env, record.pool, record.source);
    const Result<base::Removed> removed =
        controller->remove(record.name, vipu::Force::kYes, deadline.capped(kLongestAttempt));
    if (removed.ok()) names.push_back(record.name);
  }
  return names;
}

}  // namespace hook::lifecycle::partitions
