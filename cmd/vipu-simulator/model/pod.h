// SPDX-License-Identifier: Apache-2.0
// The simulated hardware: an IPU-POD of IPU-Machines with four IPUs each, in IPU-Link domains of
// 64, the allocation of its machines, and their addresses on the fabric.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "vipu/placement.h"
#include "vipu/types.h"

namespace vipu::simulator {

// Graphcore's IPUoF server was seen on port 50052 of an IPU-Machine, for all of its IPUs; its RDMA
// port is not public. Here each IPU has two ports of its own, so that an endpoint identifies its
// IPU.
inline constexpr uint32_t kServerPort = 50052;  // IPU 0 of a machine; IPU n adds n
inline constexpr uint32_t kRdmaPort = 50152;

// A set of machines for partitions: no partition spans two allocations.
struct Allocation {
  std::string name;
  std::vector<bool> machines;  // whether it has the machine with this index plus one

  [[nodiscard]] bool has_ipu(uint32_t ipu) const { return machines[ipu / kIpusPerMachine]; }
};

struct Pod {
  std::string name;             // "pod64"
  uint32_t machines = 0;        // numbered from 1; machine m is agent "ag<m>"
  uint32_t fabric_network = 0;  // in host byte order; machine m has this address plus m
  std::string cluster;
  std::vector<Allocation> allocations;  // at least one

  [[nodiscard]] uint32_t ipus() const { return machines * kIpusPerMachine; }
  // Returns the number of IPUs in ALLOCATION; if there is none of that name, in all machines.
  [[nodiscard]] uint32_t ipus_of(const std::string& allocation) const;
  [[nodiscard]] Topology topology() const { return Topology::of_pod(ipus()); }
};

// A POD in the form of the command line.
struct PodText {
  std::string name = "pod64";                 // pod4, pod16, pod64, pod128 or pod256
  std::string fabric = "10.5.1.0/24";         // an IPv4 network with room for the machines
  std::string cluster = {};                   // empty: "c-" and the name
  std::vector<std::string> allocations = {};  // "NAME=ag1-ag4,ag7"; none: alloc-1, of all machines
};

// Returns kInvalid with what is wrong. Allocations may share machines.
base::Result<Pod> parse_pod(const PodText& text);

// Describe one IPU by its number in the POD, from 0.
[[nodiscard]] uint32_t machine_of(uint32_t ipu);         // from 1
[[nodiscard]] uint32_t number_in_machine(uint32_t ipu);  // from 0
[[nodiscard]] std::string agent_of(uint32_t machine);
// Returns the machine of the agent with this name.
base::Result<uint32_t> machine_of_agent(const Pod& pod, std::string_view agent);
[[nodiscard]] std::string address_of(const Pod& pod, uint32_t machine);

// Returns IPU as an IPUoF device, with the number ROUTING_ID in the segment SEGMENT of its
// partition.
[[nodiscard]] IpuofDevice device_of(const Pod& pod, uint32_t ipu, uint32_t segment,
                                    uint32_t routing_id);

// Returns the attributes of IPU, with the keys of `vipu list ipu-attrs`. ERROR is its fault; empty:
// none. Serial numbers and versions say that they are simulated.
[[nodiscard]] IpuAttributes attributes_of(uint32_t ipu, const std::string& error);

}  // namespace vipu::simulator
