// SPDX-License-Identifier: Apache-2.0
// Whose partition is it that a controller has by a name of ours?
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::partitions {

// Returns whether another host may have made the partition of RECORD, whose creation was cut short.
[[nodiscard]] bool may_be_of_others(const ledger::PartitionRecord& record);

// Returns whether the partition that the controller has by the name of RECORD is ours. Nobody else
// gives a random name. Fails with kBusy if that is unknown.
base::Result<bool> is_ours(vipu::Controller& controller, const ledger::PartitionRecord& record,
                           const base::Deadline& deadline);

}  // namespace hook::lifecycle::partitions
