// SPDX-License-Identifier: Apache-2.0
// What can be asked of a V-IPU controller. Each function is one call of vipu::Controller, over as
// many RPCs as it takes; its errors have the codes that vipu::Controller promises.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/ipu-vipu-client/connection.h"
#include "vipu/controller.h"
#include "vipu/types.h"

namespace client {

// submit(), then wait().
base::Result<vipu::Grant> create(Connection& connection, const vipu::PartitionRequest& request);
// CreatePartition, after a look whether the name is free. Where the answer is lost, a partition of
// that name and of what was asked for is ours; where there is none, it is asked for again.
base::Status submit(Connection& connection, const vipu::PartitionRequest& request);
// The partition's status until it is ACTIVE, then its IPUoF configuration. A controller that goes
// away meanwhile is waited for.
base::Result<vipu::Grant> wait(Connection& connection, const std::string& id);
base::Status wait_until_active(Connection& connection, const std::string& id);
// ResetPartition, then its status until it is ACTIVE.
base::Status reset(Connection& connection, const std::string& id, vipu::Relocate relocate);
// RemovePartition, by force if that is allowed and it does not go otherwise, then the list until it
// is gone.
base::Result<base::Removed> remove(Connection& connection, const std::string& id,
                                   vipu::Force force);

base::Result<std::vector<vipu::Partition>> list(Connection& connection);
base::Result<vipu::PartitionStatus> status(Connection& connection, const std::string& id);
base::Result<vipu::Grant> config(Connection& connection, const std::string& id,
                                 std::optional<uint32_t> gcd);
base::Result<vipu::Survey> survey(Connection& connection);
base::Result<std::vector<vipu::IpuAttributes>> attributes(Connection& connection,
                                                          const std::vector<std::string>& agents);
base::Result<std::string> version(Connection& connection);

}  // namespace client
