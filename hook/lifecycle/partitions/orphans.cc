// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/partitions/orphans.h"

#include <algorithm>
#include <map>

#include "base/names.h"
#include "hook/lifecycle/partitions/partitions.h"

namespace hook::lifecycle::partitions {
namespace {

using namespace base::names;

constexpr std::chrono::milliseconds kQueryTime{5000};  // for one question to a controller

// Returns those of RECORDS, all of one pool and source, that the controller has.
std::vector<ledger::PartitionRecord> that_are_there(
    vipu::Controller& controller, const Deadline& deadline,
    const std::vector<ledger::PartitionRecord>& records, std::set<std::string>& silent) {
  std::vector<ledger::PartitionRecord> there;
  const Result<std::vector<vipu::Partition>> listed = controller.list(deadline.capped(kQueryTime));
  if (!listed.ok()) {
    silent.insert(records.front().source);
    return there;
  }
  for (const ledger::PartitionRecord& record : records) {
    const bool is_listed =
        std::any_of(listed.value().begin(), listed.value().end(),
                    [&](const vipu::Partition& partition) { return partition.id == record.name; });
    if (is_listed) there.push_back(record);
  }
  return there;
}

}  // namespace

Result<std::vector<ledger::PartitionRecord>> find_late_partitions(Env& env,
                                                                  const Deadline& deadline,
                                                                  std::set<std::string>& silent) {
  std::map<std::pair<std::string, std::string>, std::vector<ledger::PartitionRecord>> by_source;
  for (ledger::PartitionRecord& record : TRY(env.ledger.partitions().late())) {
    by_source[{record.pool, record.source}].push_back(std::move(record));
  }
  std::vector<ledger::PartitionRecord> late;
  for (const auto& [at, records] : by_source) {
    if (silent.contains(at.second)) continue;
    const auto controller = recorded_controller(env, at.first, at.second);
    const std::vector<ledger::PartitionRecord> there =
        that_are_there(*controller, deadline, records, silent);
    late.insert(late.end(), there.begin(), there.end());
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
