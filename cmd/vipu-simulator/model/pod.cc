// SPDX-License-Identifier: Apache-2.0
#include "cmd/vipu-simulator/model/pod.h"

#include <arpa/inet.h>

#include <algorithm>

#include "base/names.h"
#include "base/text.h"

namespace vipu::simulator {

using namespace base::names;

namespace {

Result<uint32_t> parse_fabric(std::string_view text, uint32_t machines) {
  const Error wrong(Code::kInvalid, str(base::quote(text),
                                        " is not an IPv4 network such as 10.5.1.0/24, with room ",
                                        "for ", machines, " machines"));
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return wrong;
  in_addr address{};
  if (::inet_pton(AF_INET, std::string(text.substr(0, slash)).c_str(), &address) != 1) return wrong;
  const Result<uint32_t> prefix = base::parse_int<uint32_t>(text.substr(slash + 1), 8, 30);
  if (!prefix.ok()) return wrong;
  const uint32_t network = ntohl(address.s_addr);
  const uint32_t host_mask = (1U << (32 - prefix.value())) - 1;
  // The last address is the broadcast address.
  if ((network & host_mask) != 0 || machines >= host_mask) return wrong;
  return network;
}

Result<uint32_t> machines_of(std::string_view pod) {
  for (const uint32_t ipus : {4U, 16U, 64U, 128U, 256U}) {
    if (pod == str("pod", ipus)) return ipus / kIpusPerMachine;
  }
  return Error(Code::kInvalid,
               str(base::quote(pod), " is no POD: use pod4, pod16, pod64, pod128 or pod256"));
}

// Adds the agents in TEXT, "ag3" or "ag1-ag4", to ALLOCATION.
Status add_agents(const Pod& pod, std::string_view text, Allocation& allocation) {
  const std::vector<std::string_view> ends = base::split(text, '-');
  if (ends.size() > 2) {
    return Error(Code::kInvalid, str(base::quote(text), " is not like ag3 or ag1-ag4"));
  }
  const uint32_t first = TRY(machine_of_agent(pod, ends.front()));
  const uint32_t last = TRY(machine_of_agent(pod, ends.back()));
  if (first > last) return Error(Code::kInvalid, str(base::quote(text), " is no range of agents"));
  for (uint32_t machine = first; machine <= last; ++machine) {
    allocation.machines[machine - 1] = true;
  }
  return {};
}

Result<Allocation> parse_allocation(const Pod& pod, std::string_view text) {
  const size_t equals = text.find('=');
  Allocation allocation{std::string(text.substr(0, equals)), std::vector<bool>(pod.machines)};
  if (equals == std::string_view::npos || !is_partition_name(allocation.name)) {
    return Error(Code::kInvalid, str(base::quote(text), " is not like NAME=ag1-ag4,ag7"));
  }
  for (const std::string_view agents : base::split(text.substr(equals + 1), ',')) {
    TRY_CTX(str("allocation ", base::quote(allocation.name)), add_agents(pod, agents, allocation));
  }
  return allocation;
}

Result<std::vector<Allocation>> parse_allocations(const Pod& pod,
                                                  const std::vector<std::string>& texts) {
  if (texts.empty()) return std::vector{Allocation{"alloc-1", std::vector(pod.machines, true)}};
  std::vector<Allocation> allocations;
  for (const std::string& text : texts) {
    Allocation allocation = TRY(parse_allocation(pod, text));
    const bool twice =
        std::any_of(allocations.begin(), allocations.end(),
                    [&](const Allocation& other) { return other.name == allocation.name; });
    if (twice) {
      return Error(Code::kInvalid,
                   str("allocation ", base::quote(allocation.name), " is given twice"));
    }
    allocations.push_back(std::move(allocation));
  }
  return allocations;
}

}  // namespace

uint32_t Pod::ipus_of(const std::string& allocation) const {
  const auto at = std::find_if(allocations.begin(), allocations.end(),
                               [&](const Allocation& each) { return each.name == allocation; });
  if (at == allocations.end()) return ipus();
  const auto own = std::count(at->machines.begin(), at->machines.end(), true);
  return static_cast<uint32_t>(own) * kIpusPerMachine;
}

Result<Pod> parse_pod(const PodText& text) {
  Pod pod;
  pod.name = text.name;
  pod.machines = TRY(machines_of(text.name));
  pod.fabric_network = TRY(parse_fabric(text.fabric, pod.machines));
  pod.cluster = text.cluster.empty() ? "c-" + text.name : text.cluster;
  if (!is_partition_name(pod.cluster)) {
    return Error(Code::kInvalid, str("cluster ", base::quote(pod.cluster), " is no name of ",
                                     "A-Z, a-z, 0-9, - and _"));
  }
  pod.allocations = TRY(parse_allocations(pod, text.allocations));
  return pod;
}

uint32_t machine_of(uint32_t ipu) { return ipu / kIpusPerMachine + 1; }

// Graphcore's tools number the IPUs of a machine against their logical order: the first one that
// gc-info and gc-monitor show is IPU# 3.
uint32_t number_in_machine(uint32_t ipu) { return kIpusPerMachine - 1 - ipu % kIpusPerMachine; }

std::string agent_of(uint32_t machine) { return str("ag", machine); }

Result<uint32_t> machine_of_agent(const Pod& pod, std::string_view agent) {
  if (agent.starts_with("ag")) {
    const Result<uint32_t> machine = base::parse_int<uint32_t>(agent.substr(2), 1, pod.machines);
    if (machine.ok() && agent == agent_of(machine.value())) return machine;
  }
  return Error(Code::kInvalid,
               str("no agent ", base::quote(agent), ": there are ag1 to ag", pod.machines));
}

std::string address_of(const Pod& pod, uint32_t machine) {
  const in_addr address{htonl(pod.fabric_network + machine)};
  char text[INET_ADDRSTRLEN] = "";
  (void)::inet_ntop(AF_INET, &address, text, sizeof text);
  return text;
}

IpuofDevice device_of(const Pod& pod, uint32_t ipu, uint32_t segment, uint32_t routing_id) {
  const uint32_t number = number_in_machine(ipu);
  IpuofDevice device;
  device.ip = address_of(pod, machine_of(ipu));
  device.server_port = kServerPort + number;
  device.rdma_port = kRdmaPort + number;
  device.device_id = number;
  device.ipulink_segment_id = segment;
  device.routing_id = routing_id;
  device.ipu_arch_id = 2;  // Mk2
  device.ipu_id = ipu;
  device.chip_id = str("simulated-", machine_of(ipu), "-", number);
  device.gwsw_version = "simulated";
  device.ipum_sw_version = "simulated";
  return device;
}

// Returns the keys, and the figures of an M2000, from Graphcore's documentation of gc-info and of
// the C600.
IpuAttributes attributes_of(uint32_t ipu, const std::string& error) {
  const uint32_t number = number_in_machine(ipu);
  const std::string serial = str("simulated-", machine_of(ipu), "-", number / 2);
  return {agent_of(machine_of(ipu)),
          number,
          {{"average board temp", "30.0 C"},
           {"average die temp", "35.0 C"},
           {"board ipu index", std::to_string(number % 2)},
           {"board serial number", serial},
           {"board type", "M2000"},
           {"board variant", "simulated"},
           {"clock", "1330MHz"},
           {"driver version", "simulated"},
           {"firmware version", "simulated"},
           {"hexoatt active size (bytes)", "0"},
           {"hexoatt total size (bytes)", "16911433728"},
           {"hexopt active size (bytes)", "0"},
           {"hexopt total size (bytes)", "268435456"},
           {"icu bootloader version", "simulated"},
           {"ipu architecture", "ipu2"},
           {"ipu error state", error.empty() ? "no errors" : error},
           {"ipu power", "40.0 W"},
           {"ipu utilisation", "0.00%"},
           {"ipu utilisation (session)", "0.00%"},
           {"numa node", "0"},
           {"parity initialised", "1"},
           {"pci id", std::to_string(number)},
           {"remote buffers supported", "1"},
           {"total board power", "80.0 W"}}};
}

}  // namespace vipu::simulator
