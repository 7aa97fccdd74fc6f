// SPDX-License-Identifier: Apache-2.0
// The calls of a V-IPU controller. Each function is one call of vipu::Controller, over as many RPCs
// as necessary; its errors have the codes that vipu::Controller promises.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/ipu-vipu-client/session/connection.h"
#include "vipu/controller.h"
#include "vipu/types.h"

namespace client {

// Calls submit(), then wait().
base::Result<vipu::Grant> create(Connection& connection, const vipu::PartitionRequest& request);
// Calls CreatePartition after checking that the name is free. If the answer is lost, a partition of
// this name that matches the request is ours; if there is none, repeats the request. A refusal
// means what judge() (refusal.h) finds. If the controller may be busy, repeats the request for a
// while.
base::Status submit(Connection& connection, const vipu::PartitionRequest& request);
// Polls the partition's status until it is ACTIVE, then returns its IPUoF configuration. Waits for
// a controller that goes away meanwhile, and a short time for a partition that does not show yet or
// whose configuration is not complete yet.
base::Result<vipu::Grant> wait(Connection& connection, const std::string& id);
base::Status wait_until_active(Connection& connection, const std::string& id);
// Calls ResetPartition, after waiting for a partition that is still being created. Then polls the
// status until the reset shows, or a short time has passed, and until the partition is ACTIVE.
base::Status reset(Connection& connection, const std::string& id, vipu::Relocate relocate);
// Calls RemovePartition, by force if that is allowed and nothing else works, then lists partitions
// until it is gone.
base::Result<base::Removed> remove(Connection& connection, const std::string& id,
                                   vipu::Force force);

base::Result<std::vector<vipu::Partition>> list(Connection& connection);
// Returns the partition if the controller lists it, and not as REMOVED.
base::Result<std::optional<vipu::Partition>> find(Connection& connection, const std::string& id);
// Return kNotFound if the controller has no such partition, whatever it answers then.
base::Result<vipu::PartitionStatus> status(Connection& connection, const std::string& id);
base::Result<vipu::Grant> config(Connection& connection, const std::string& id,
                                 std::optional<uint32_t> gcd);
base::Result<vipu::Survey> survey(Connection& connection);
base::Result<std::vector<vipu::IpuAttributes>> attributes(Connection& connection,
                                                          const std::vector<std::string>& agents);
base::Result<std::string> version(Connection& connection);

}  // namespace client
