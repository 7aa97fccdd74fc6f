// SPDX-License-Identifier: Apache-2.0
// Values of the model as messages of a V-IPU controller, and back.
#pragma once

#include "base/result.h"
#include "cmd/vipu-simulator/model/model.h"
#include "vipu/proto/virm.pb.h"
#include "vipu/types.h"

namespace simulator {

// What IPUoF server and gateway software call themselves here.
inline constexpr const char* kSoftwareVersion = "simulated";

// kInvalid for a number that no enumeration has.
base::Result<vipu::PartitionRequest> to_value(const virmgrpc::CreatePartitionRequest& message);

void fill(virmgrpc::Partition& message, const vipu::simulator::Record& record);
void fill(virmgrpc::PartitionStatus& message, const vipu::simulator::Record& record,
          const vipu::simulator::Settings& settings);
// All but the GCDs.
void fill(virmgrpc::PartitionConfig& message, const vipu::simulator::Record& record);
void fill(virmgrpc::PartitionConfig::Gcd& message, const vipu::IpuofConfig& config);
// The four IPUs of a machine, numbered from 1.
void fill(virmgrpc::ListIPUAttributesReply::Entry& message, uint32_t machine,
          const vipu::simulator::Model& model);

}  // namespace simulator
