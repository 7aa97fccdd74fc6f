// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/partitions/orphans.h"

#include <utility>

#include "base/names.h"
#include "hook/lifecycle/partitions/partitions.h"

namespace hook::lifecycle::partitions {
namespace {

using namespace base::names;

constexpr std::chrono::milliseconds kQueryTime{5000};  // for one question to a controller

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
                                                        std::set<std::string>& silent) {
  std::vector<std::string> names;
  for (const ledger::PartitionRecord& record : TRY(find_late_partitions(env, deadline, silent))) {
    const auto controller = recorded_controller(env, record.pool, record.source);
    const Result<base::Removed> removed =
        controller->remove(record.name, vipu::Force::kYes, deadline.capped(kLongestAttempt));
    if (removed.ok()) names.push_back(record.name);
  }
  return names;
}

}  // namespace hook::lifecycle::partitions
