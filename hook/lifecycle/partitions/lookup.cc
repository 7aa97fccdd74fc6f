// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/partitions/lookup.h"

#include "base/names.h"
#include "base/text.h"
#include "hook/lifecycle/partitions/ownership.h"
#include "vipu/types.h"

namespace hook::lifecycle::partitions {

using namespace base::names;

Status check_name(const std::string& name) {
  if (vipu::is_partition_name(name) && !ledger::is_reserved_name(name)) return {};
  return Error(
      Code::kInvalid,
      str(base::quote(name), " is not a valid name for a partition: it must have 1 to ",
          vipu::kMaxPartitionName,
          " of A-Z, a-z, 0-9, '-' and '_', and must not be one that the toolkit gives, such as"
          " 'c-1f2e3d4c-0123456789ab'"));
}

// Returns the partition as its controller has it.
Result<vipu::Partition> get_listed(vipu::Controller& controller, const config::PoolConfig& pool,
                                   const std::string& name, const Deadline& deadline) {
  for (vipu::Partition& partition : TRY(controller.list(deadline))) {
    if (partition.id == name) return std::move(partition);
  }
  return Error(Code::kNotFound, str("pool '", pool.name, "' has no partition ", base::quote(name),
                                    "; see 'ipuctl partition list'"));
}

// Returns the record of this name that a dead process left, and whose partition may be another
// host's.
Result<std::optional<ledger::PartitionRecord>> find_unsure(Env& env, const std::string& pool,
                                                           const std::string& name) {
  auto left = TRY(env.ledger.partitions().find(pool, name));
  const bool is_one = left && left->state != ledger::PartitionState::kReady &&
                      may_be_of_others(*left) && !is_held(*left, TRY(base::boot_id()));
  if (!is_one) left.reset();
  return left;
}

}  // namespace hook::lifecycle::partitions
