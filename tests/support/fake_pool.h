// SPDX-License-Identifier: Apache-2.0
// FakePool: the IPU-POD of a FakeController.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "vipu/backfill.h"
#include "vipu/placement.h"
#include "vipu/types.h"

namespace test {

struct FakePool {
  explicit FakePool(uint32_t ipus) : topology(vipu::Topology::of_pod(ipus)) {}

  vipu::Topology topology;
  std::map<std::string, vipu::Partition> partitions = {};
  std::vector<vipu::TaintedIpu> tainted = {};
  std::map<uint32_t, std::string> addresses =
      {};  // by IPU-Machine, from 0; the others are 10.5.1.N+1
  uint32_t first_server_port = 50052;
  std::vector<std::string> controller_addresses = {"10.5.1.254"};
  std::string misplaced_in =
      {};  // allocation of new partitions, whatever they ask for; empty: none

  [[nodiscard]] vipu::Survey survey() const {
    vipu::Survey survey;
    for (uint32_t i = 0; i < topology.domains(); ++i) {
      survey.domains.push_back(topology.size_of(i));
    }
    for (const auto& [id, partition] : partitions) survey.partitions.push_back(partition);
    survey.tainted = tainted;
    return survey;
  }

  base::Result<vipu::Partition*> get(const std::string& id) {
    const auto at = partitions.find(id);
    if (at != partitions.end()) return &at->second;
    return base::Error(base::Code::kNotFound, base::str("no partition ", base::quote(id)));
  }

  // Returns the new partition, with its IPUs, in state UNDEFINED.
  base::Result<vipu::Partition*> add(const vipu::PartitionRequest& request) {
    if (!vipu::is_partition_name(request.id)) {
      return base::Error(base::Code::kInvalid, base::str(base::quote(request.id), " is no name"));
    }
    if (partitions.contains(request.id)) return base::Error(base::Code::kExists, request.id);
    const uint32_t gcds = std::max(request.gcds, 1U);
    if (request.size % gcds != 0) {
      return base::Error(base::Code::kInvalid, base::str(gcds, " GCDs of size ", request.size));
    }
    vipu::Partition made;
    made.ipus = TRY(choose(request));
    made.id = request.id;
    made.cluster = request.cluster;
    made.allocation = misplaced_in.empty() ? request.allocation : misplaced_in;
    made.gcds = gcds;
    made.replicas = std::max(request.replicas, gcds);
    made.segments = std::max(request.segments, 1U);
    made.reconfigurable = request.reconfigurable;
    made.link_routing = request.link_routing;
    made.gateway_routing = request.gateway_routing;
    made.sync = request.sync;
    return &(partitions[request.id] = made);
  }

  [[nodiscard]] vipu::Grant grant_of(const vipu::Partition& partition,
                                     std::optional<uint32_t> gcd) const {
    const size_t size = partition.ipus.size() / partition.gcds;
    vipu::Grant grant{{}, "10.5.1.254", {}, controller_addresses};
    for (uint32_t i = gcd.value_or(0); i <= gcd.value_or(partition.gcds - 1); ++i) {
      vipu::IpuofConfig config;
      for (size_t j = 0; j < size; ++j) {
        config.devices.push_back(device_of(partition.ipus[i * size + j]));
        config.devices.back().routing_id = static_cast<uint32_t>(i * size + j);
      }
      config.attributes["GCD Id"] = base::str(i);
      grant.gcds.push_back(config);
    }
    return grant;
  }

  [[nodiscard]] std::vector<vipu::IpuAttributes> attributes_of(
      const std::vector<std::string>& agents) const {
    std::vector<vipu::IpuAttributes> ipus;
    for (uint32_t i = 0; i < topology.ipus(); ++i) {
      const std::string agent = base::str("agent-", i / vipu::kIpusPerMachine + 1);
      if (agents.empty() || std::find(agents.begin(), agents.end(), agent) != agents.end()) {
        ipus.push_back({agent, i % vipu::kIpusPerMachine, {{"ipu id", base::str(i)}}});
      }
    }
    return ipus;
  }

 private:
  [[nodiscard]] vipu::IpuofDevice device_of(const vipu::IpuPlace& place) const {
    const uint32_t number = topology.number_of(place).value();
    const uint32_t on_machine = number % vipu::kIpusPerMachine;
    vipu::IpuofDevice device;
    const uint32_t machine = number / vipu::kIpusPerMachine;
    const auto address = addresses.find(machine);
    device.ip = address == addresses.end() ? base::str("10.5.1.", machine + 1) : address->second;
    device.server_port = first_server_port + on_machine;
    device.rdma_port = 50152 + on_machine;
    device.device_id = on_machine;
    device.ipu_id = number;
    return device;
  }

  [[nodiscard]] base::Result<std::vector<vipu::IpuPlace>> choose(
      const vipu::PartitionRequest& request) const {
    vipu::Occupancy occupancy = vipu::Occupancy::of(survey());
    if (request.pinned) vipu::keep(occupancy, *request.pinned);
    if (!request.ipus.empty()) return choose_named(occupancy, request);
    const vipu::Wanted wanted{request.size, request.segments};
    TRY(vipu::check_wanted(topology, wanted));
    const auto blocks = vipu::place(occupancy, wanted);
    if (!blocks.has_value()) {
      return base::Error(base::Code::kBusy,
                         vipu::to_text(vipu::why_not(occupancy, wanted), wanted));
    }
    std::vector<vipu::IpuPlace> places;
    for (const vipu::Block& block : *blocks) {
      for (uint32_t i = 0; i < block.size; ++i) {
        places.push_back(topology.place_of(block.first + i));
      }
    }
    return places;
  }

  [[nodiscard]] base::Result<std::vector<vipu::IpuPlace>> choose_named(
      const vipu::Occupancy& occupancy, const vipu::PartitionRequest& request) const {
    std::vector<vipu::IpuPlace> places;
    for (const vipu::ChosenIpu& ipu : request.ipus) {
      const std::optional<uint32_t> number = topology.number_of(ipu.place);
      if (!number.has_value()) return base::Error(base::Code::kInvalid, "there is no such IPU");
      if (!occupancy.is_free(*number)) {
        return base::Error(base::Code::kBusy, base::str("IPU ", *number, " is not free"));
      }
      places.push_back(ipu.place);
    }
    return places;
  }
};

}  // namespace test
