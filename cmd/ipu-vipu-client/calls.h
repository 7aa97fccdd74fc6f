// SPDX-License-Identifier: Apache-2.0
// What can be asked of a V-IPU controller. Each function is one call of vipu::Controller, over as
// many RPCs as it takes; its errors have the codes that vipu::Controller promises.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/ipu-vipu-client/connection.h"
#include "vipu/types.h"

namespace client {

// CreatePartition, then its status until it is ACTIVE, then its IPUoF configuration.
base::Result<vipu::Grant> create(Connection& connection, const vipu::PartitionRequest& request);

base::Result<std::vector<vipu::Partition>> list(Connection& connection);
base::Result<vipu::PartitionStatus> status(Connection& connection, const std::string& id);
base::Result<std::vector<vipu::IpuofConfig>> config(Connection& connection, const std::string& id);

// RemovePartition, by force if it does not go otherwise, then the list until it is gone.
base::Result<base::Removed> remove(Connection& connection, const std::string& id);

base::Result<vipu::Capacity> capacity(Connection& connection);
base::Result<std::string> version(Connection& connection);

}  // namespace client
