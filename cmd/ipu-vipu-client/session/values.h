// SPDX-License-Identifier: Apache-2.0
// Conversion of a V-IPU controller's messages to values.
#pragma once

#include <vector>

#include "vipu/proto/virm.pb.h"
#include "vipu/types.h"

namespace client {

virmgrpc::CreatePartitionRequest to_message(const vipu::PartitionRequest& request);

vipu::Partition to_value(const virmgrpc::Partition& partition);
// Keeps at most 64 errors, each cut to one line.
vipu::PartitionStatus to_value(const virmgrpc::PartitionStatus& status);
vipu::IpuofConfig to_value(const virmgrpc::PartitionConfig::Gcd& gcd);
// Returns the attributes sorted by agent and IPU.
std::vector<vipu::IpuAttributes> to_values(const virmgrpc::ListIPUAttributesReply& reply);

}  // namespace client
