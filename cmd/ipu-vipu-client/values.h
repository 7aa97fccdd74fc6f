// SPDX-License-Identifier: Apache-2.0
// Messages of a V-IPU controller as values.
#pragma once

#include "vipu/proto/virm.pb.h"
#include "vipu/types.h"

namespace client {

vipu::ReadyState to_value(virmgrpc::PartitionReadyState state);
vipu::Partition to_value(const virmgrpc::Partition& partition);
// Errors are cut to one line each, and to 64 of them.
vipu::PartitionStatus to_value(const virmgrpc::PartitionStatus& status);
vipu::IpuofConfig to_value(const virmgrpc::PartitionConfig::Gcd& gcd);

}  // namespace client
