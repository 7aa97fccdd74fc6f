// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/devices/devices.h"

#include "vipu/placement.h"

namespace ipuctl::devices {
namespace {

using vipu::Partition;
using vipu::ReadyState;

// Returns the GCD of IPU number POSITION of the partition.
std::optional<uint32_t> gcd_of(const Partition& partition, size_t position) {
  const size_t ipus = partition.ipus.size();
  if (partition.gcds == 0 || ipus % partition.gcds != 0) return std::nullopt;
  return static_cast<uint32_t>(position / (ipus / partition.gcds));
}

bool has_gcd(const Holder& holder, std::optional<uint32_t> gcd) {
  return !gcd || (*gcd >= holder.gcd && *gcd - holder.gcd < holder.gcds);
}

void put(const Partition& partition, size_t position, const std::vector<Holder>& holders,
         Device& device) {
  device.partition = partition.id;
  device.ready = partition.ready;
  device.gcd = gcd_of(partition, position);
  if (partition.ready == ReadyState::kError && device.health != Health::kTainted)
    device.health = Health::kError;
  for (const Holder& holder : holders)
    if (holder.partition == partition.id && has_gcd(holder, device.gcd))
      device.holders.push_back(holder);
}

}  // namespace

std::string_view name_of(Health health) {
  switch (health) {
    case Health::kOk:
      return "ok";
    case Health::kError:
      return "error";
    case Health::kTainted:
      return "tainted";
    case Health::kUnknown:
      break;
  }
  return "unknown";
}

std::vector<Device> devices_of(const vipu::Survey& survey, const std::vector<Partition>& partitions,
                               const std::vector<Holder>& holders, bool is_looked_at) {
  const vipu::Topology topology(survey.domains);
  std::vector<Device> devices(topology.ipus());
  for (uint32_t number = 0; number < topology.ipus(); ++number) {
    devices[number].place = topology.place_of(number);
    devices[number].health = is_looked_at ? Health::kOk : Health::kUnknown;
  }
  for (const vipu::TaintedIpu& one : survey.tainted) {
    const auto number = topology.number_of(one.place);
    if (!number) continue;
    devices[*number].health = Health::kTainted;
    devices[*number].reason = one.reason;
  }
  for (const Partition& partition : partitions) {
    for (size_t i = 0; i < partition.ipus.size(); ++i) {
      const auto number = topology.number_of(partition.ipus[i]);
      if (number) put(partition, i, holders, devices[*number]);
    }
  }
  return devices;
}

}  // namespace ipuctl::devices
