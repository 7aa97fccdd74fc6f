// SPDX-License-Identifier: Apache-2.0
#include "hook/config/scheme.h"

#include "base/names.h"
#include "base/text.h"
#include "vipu/placement.h"

namespace hook::config {

using namespace base::names;

namespace {

// Returns the number of IPUs that 'machines' has room for.
uint32_t ipus_of(const netns::Prefix& machines) {
  return netns::count_between(machines.address, netns::last_of(machines), kMostMachines) *
         vipu::kIpusPerMachine;
}

}  // namespace

bool AddressSpan::contains(const netns::Address& address) const {
  return address.family == first.family && !(address < first) && !(last < address);
}

bool AddressSpan::overlaps(const AddressSpan& other) const {
  return contains(other.first) || other.contains(first);
}

std::string to_string(const AddressSpan& span) {
  return str(netns::to_string(span.first), '-', netns::to_string(span.last));
}

std::optional<AddressSpan> range_of(const RailConfig& rail) {
  if (!rail.has_range) return std::nullopt;
  return AddressSpan{rail.first, rail.last};
}

std::optional<AddressSpan> span_of(const RailConfig& rail) {
  if (!rail.base || !rail.machines) return std::nullopt;
  const std::optional<netns::Address> last = netns::later(*rail.base, ipus_of(*rail.machines) - 1);
  // Ends with the family; the reader of the configuration has refused such a span.
  return AddressSpan{*rail.base, last.value_or(*rail.base)};
}

Result<netns::Address> address_by_ipu(const RailConfig& rail, const netns::Address& machine,
                                      uint32_t device) {
  const std::optional<AddressSpan> span = span_of(rail);
  const std::string ipu = str("IPU ", device, " of IPU-Machine ", netns::to_string(machine));
  if (!span || !rail.machines->contains(machine)) {
    return Error(Code::kUnsupported,
                 str(ipu, " gives no address by scheme = \"ipu\" of rail ", quote(name_of(rail)),
                     ", because 'machines' does not have that machine; enlarge 'machines' of"
                     " network.rail, on all hosts and while no container runs"));
  }
  if (device >= vipu::kIpusPerMachine) {
    return Error(Code::kUnsupported,
                 str(ipu, " gives no address by scheme = \"ipu\" of rail ", quote(name_of(rail)),
                     ", which counts ", vipu::kIpusPerMachine,
                     " IPUs for each IPU-Machine; set scheme = \"range\" in network.rail"));
  }
  const uint32_t before =
      netns::count_between(rail.machines->address, machine, kMostMachines + 1) - 1;
  return *netns::later(span->first, before * vipu::kIpusPerMachine + device);
}

}  // namespace hook::config
