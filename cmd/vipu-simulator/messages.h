// SPDX-License-Identifier: Apache-2.0
// Values of the model as messages of a V-IPU controller.
#pragma once

#include <vector>

#include "vipu/proto/virm.pb.h"
#include "vipu/simulator/model.h"
#include "vipu/types.h"

namespace simulator {

vipu::simulator::Requirements to_value(const virmgrpc::PartitionRequirements& wanted);

void fill(virmgrpc::Partition& message, const vipu::Partition& partition);
void fill(virmgrpc::PartitionStatus& message, const vipu::PartitionStatus& status);
void fill(virmgrpc::PartitionConfig::Gcd& message, const vipu::IpuofConfig& config);
// The four IPUs of a machine, numbered from 1.
void fill(virmgrpc::ListIPUAttributesReply::Entry& message, uint32_t machine);

}  // namespace simulator
