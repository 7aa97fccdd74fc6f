// SPDX-License-Identifier: Apache-2.0
// Messages of a V-IPU controller as values.
#pragma once

#include <vector>

#include "vipu/proto/virm.pb.h"
#include "vipu/types.h"

namespace client {

virmgrpc::CreatePartitionRequest to_message(const vipu::PartitionRequest& request);

vipu::Partition to_value(const virmgrpc::Partition& partition);
// Errors are cut to one line each, and to 64 of them.
vipu::PartitionStatus to_value(const virmgrpc::PartitionStatus& status);
vipu::IpuofConfig to_value(const virmgrpc::PartitionConfig::Gcd& gcd);
// Sorted by agent and IPU.
std::vector<vipu::IpuAttributes> to_values(const virmgrpc::ListIPUAttributesReply& reply);

}  // namespace client
