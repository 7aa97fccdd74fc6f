// SPDX-License-Identifier: Apache-2.0
// Conversion of model values to messages of a V-IPU controller, and back.
#pragma once

#include "base/result.h"
#include "cmd/vipu-simulator/model/model.h"
#include "vipu/proto/virm.pb.h"
#include "vipu/types.h"

namespace simulator {

// The version that the simulated IPUoF servers and gateways report.
inline constexpr const char* kSoftwareVersion = "simulated";

// Returns kInvalid for a number outside its enumeration.
base::Result<vipu::PartitionRequest> to_value(const virmgrpc::CreatePartitionRequest& message);

void fill(virmgrpc::Partition& message, const vipu::simulator::Record& record);
void fill(virmgrpc::PartitionStatus& message, const vipu::simulator::Record& record,
          const vipu::simulator::Settings& settings);
// Fills everything but the GCDs.
void fill(virmgrpc::PartitionConfig& message, const vipu::simulator::Record& record);
void fill(virmgrpc::PartitionConfig::Gcd& message, const vipu::IpuofConfig& config);
// Fills in the four IPUs of a machine. MACHINE counts from 1.
void fill(virmgrpc::ListIPUAttributesReply::Entry& message, uint32_t machine,
          const vipu::simulator::Model& model);

}  // namespace simulator
