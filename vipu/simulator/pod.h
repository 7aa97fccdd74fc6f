// SPDX-License-Identifier: Apache-2.0
// The hardware that is simulated: an IPU-POD of IPU-Machines with four IPUs each, in one IPU-Link
// domain, and how a host reaches them over the fabric.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "vipu/types.h"

namespace vipu::simulator {

inline constexpr uint32_t kIpusPerMachine = 4;

// Graphcore's IPUoF server was seen on port 50052 of an IPU-Machine, for all of its IPUs; its RDMA
// port is not public. Here each IPU has two ports of its own, so that an endpoint can tell which
// IPU it is.
inline constexpr uint32_t kServerPort = 50052;  // of IPU 0 of a machine; IPU n is n above
inline constexpr uint32_t kRdmaPort = 50152;

struct Pod {
  std::string name;             // "pod16" or "pod64"
  uint32_t machines = 0;        // numbered from 1
  uint32_t fabric_network = 0;  // in host byte order; machine m has this address plus m

  [[nodiscard]] uint32_t ipus() const { return machines * kIpusPerMachine; }
};

// NAME is "pod16" or "pod64"; FABRIC an IPv4 network such as "10.5.1.0/24", with room for the
// machines.
base::Result<Pod> parse_pod(std::string_view name, std::string_view fabric);

// One IPU by its number in the POD, from 0.
[[nodiscard]] uint32_t machine_of(uint32_t ipu);         // from 1
[[nodiscard]] uint32_t number_in_machine(uint32_t ipu);  // from 0
[[nodiscard]] std::string address_of(const Pod& pod, uint32_t machine);

// IPU as an IPUoF device, with the number ROUTING_ID in its partition.
[[nodiscard]] IpuofDevice device_of(const Pod& pod, uint32_t ipu, uint32_t routing_id);

}  // namespace vipu::simulator
