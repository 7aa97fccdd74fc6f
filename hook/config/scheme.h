// SPDX-License-Identifier: Apache-2.0
// Scheme "ipu": the address of a container follows from its first IPU on the rail. Pure.
//
// The IPU-Machine's address and the IPU's number on that machine identify an IPU. Both are in its
// IPUoF configuration, and every host gets the same. No two IPU-Machines of a rail have the same
// address, whichever POD or pool they belong to. Therefore one base for each rail serves all pools,
// and all hosts have the same configuration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "hook/config/config.h"

namespace hook::config {

// The most addresses of 'machines' with scheme "ipu": they give a million addresses, as many as a
// range has.
inline constexpr uint32_t kMostMachines = 1 << 18;

// Addresses from FIRST to LAST, both included.
struct AddressSpan {
  netns::Address first;
  netns::Address last;
  [[nodiscard]] bool contains(const netns::Address& address) const;
  [[nodiscard]] bool overlaps(const AddressSpan& other) const;
};
[[nodiscard]] std::string to_string(const AddressSpan& span);  // "10.5.200.10-10.5.200.99"

// Return RAIL's range, if it has one; the addresses that IPUs give, if its scheme is "ipu": four
// for each address of 'machines'.
[[nodiscard]] std::optional<AddressSpan> range_of(const RailConfig& rail);
[[nodiscard]] std::optional<AddressSpan> span_of(const RailConfig& rail);

// Returns the address of a container whose first IPU is DEVICE, a number from 0, of the IPU-Machine
// at MACHINE. RAIL has the scheme "ipu". Fails with kUnsupported, with what to change, if DEVICE is
// above 3 or 'machines' does not have MACHINE.
base::Result<netns::Address> address_by_ipu(const RailConfig& rail, const netns::Address& machine,
                                            uint32_t device);

}  // namespace hook::config
