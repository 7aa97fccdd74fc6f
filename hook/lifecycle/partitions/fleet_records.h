// SPDX-License-Identifier: Apache-2.0
// What this host's ledger has of named partitions, as the fleet's store has it.
#pragma once

#include <string>
#include <vector>

#include "base/process.h"
#include "hook/fleet/partitions.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::partitions {

[[nodiscard]] fleet::PartitionName name_of(const ledger::PartitionRecord& record);
[[nodiscard]] fleet::PartitionName name_of(const ledger::Lease& lease);
// Returns what a partition is that this host makes known.
[[nodiscard]] fleet::PartitionFacts facts_of(const Env& env, const ledger::PartitionRecord& record);
// Returns the addresses of LEASE's interfaces that IPUs give.
[[nodiscard]] std::vector<std::string> addresses_by_ipu(const ledger::Lease& lease);
// Returns the claim whose id LEASE has.
[[nodiscard]] fleet::Claim claim_of(const Env& env, const ledger::Lease& lease);
// Returns how the claim of a reset names its process.
[[nodiscard]] std::string process_text(const base::ProcessId& process, const std::string& boot);

}  // namespace hook::lifecycle::partitions
