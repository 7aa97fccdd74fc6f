// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/partitions/ownership.h"

#include <algorithm>

#include "base/names.h"
#include "base/text.h"

namespace hook::lifecycle::partitions {

using namespace base::names;

namespace {

// A creation that was cut short is undone on its own evidence for this long: its record does not
// say whether the controller was asked, and later a partition of that name may be another host's.
constexpr int64_t kSoonMs = 600'000;

bool is_like(const vipu::Partition& partition, const ledger::PartitionRecord& record) {
  const bool has_size = partition.ipus.empty() || partition.ipus.size() == record.ipus;
  return has_size && std::max(1U, partition.gcds) == record.gcds &&
         partition.reconfigurable == record.reconfigurable;
}

bool has_controller(const ledger::PartitionRecord& record) {
  return !record.source.starts_with("ipuof:") && !record.source.starts_with("pcie:");
}

}  // namespace

bool may_be_of_others(const ledger::PartitionRecord& record) {
  return record.state == ledger::PartitionState::kIntent && has_controller(record) &&
         !ledger::is_reserved_name(record.name);
}

Result<bool> is_ours(vipu::Controller& controller, const ledger::PartitionRecord& record,
                     const Deadline& deadline) {
  if (ledger::is_reserved_name(record.name)) return true;
  const std::vector<vipu::Partition> listed = TRY(controller.list(deadline));
  const auto found = std::find_if(listed.begin(), listed.end(), [&](const vipu::Partition& one) {
    return one.id == record.name;
  });
  if (found == listed.end() || !is_like(*found, record)) return false;
  const bool is_old = base::unix_millis() - record.created_ms > kSoonMs;
  if (!is_old || !may_be_of_others(record)) return true;
  return Error(Code::kBusy,
               str("partition ", quote(record.name), " of pool ", quote(record.pool),
                   " may be another host's, because its creation here was cut short; if it is this"
                   " host's, run 'ipuctl partition remove ",
                   record.name, "'"));
}

}  // namespace hook::lifecycle::partitions
