// SPDX-License-Identifier: Apache-2.0
// What a command on one partition looks up first.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "hook/config/config.h"
#include "hook/lifecycle/env.h"
#include "vipu/controller.h"

namespace hook::lifecycle::partitions {

// Fails with kInvalid if no person may give NAME to a partition.
base::Status check_name(const std::string& name);

// Returns the partition as its controller has it; kNotFound if it has none.
base::Result<vipu::Partition> get_listed(vipu::Controller& controller,
                                         const config::PoolConfig& pool, const std::string& name,
                                         const base::Deadline& deadline);

// Returns the record of this name that a dead process left, and whose partition may be another
// host's.
base::Result<std::optional<ledger::PartitionRecord>> find_unsure(Env& env, const std::string& pool,
                                                                 const std::string& name);

}  // namespace hook::lifecycle::partitions
