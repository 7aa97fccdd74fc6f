// SPDX-License-Identifier: Apache-2.0
// The Ethernet frames with which hosts ask for and claim an address: ARP for IPv4, neighbour
// discovery for IPv6.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "netns/address.h"

namespace netns::internal {

// Returns a question from OWN that does not claim ADDRESS and leaves no trace in other hosts'
// tables: an ARP probe (RFC 5227 2.1.1), or a neighbour solicitation from :: (RFC 4862 5.4.2).
std::vector<uint8_t> probe_frame(const MacAddress& own, const Address& address);

// Returns the MAC of the host that has ADDRESS, or is about to claim it, according to FRAME.
// Returns nothing if FRAME is about something else, is cut short, or comes from OWN.
std::optional<MacAddress> find_claimant(std::span<const uint8_t> frame, const Address& address,
                                        const MacAddress& own);

// Returns the Ethernet groups, besides OWN, to which hosts send what probe_frame() causes.
std::vector<MacAddress> groups_of(const Address& address);

}  // namespace netns::internal
