// SPDX-License-Identifier: Apache-2.0
// The Ethernet frames by which a host asks who has an address, and by which others say that they
// have it: ARP for IPv4, neighbour discovery for IPv6.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "netns/address.h"

namespace netns::internal {

// A question by OWN, which does not claim ADDRESS and leaves no trace in others' tables: an ARP
// probe (RFC 5227 2.1.1), or a neighbour solicitation from :: (RFC 4862 5.4.2).
std::vector<uint8_t> probe_frame(const MacAddress& own, const Address& address);

// The MAC of the host that has ADDRESS, or is about to take it, by what it says in FRAME. Absent if
// FRAME is about something else, is cut short, or is OWN's.
std::optional<MacAddress> find_claimant(std::span<const uint8_t> frame, const Address& address,
                                        const MacAddress& own);

// Where others send what probe_frame() brings about, beside OWN: groups of Ethernet.
std::vector<MacAddress> groups_of(const Address& address);

}  // namespace netns::internal
