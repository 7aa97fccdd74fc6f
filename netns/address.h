// SPDX-License-Identifier: Apache-2.0
// IPv4 and IPv6 addresses, prefixes and MAC addresses as values.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace netns {

enum class Family : uint8_t { kIpv4 = 4, kIpv6 = 6 };

// An IP address. Addresses are ordered by family, then by value.
struct Address {
  Family family = Family::kIpv4;
  std::array<uint8_t, 16> bytes{};  // network byte order; the last 12 of an IPv4 address are zero

  [[nodiscard]] bool is_ipv4() const { return family == Family::kIpv4; }
  // Returns 4 or 16 bytes.
  [[nodiscard]] std::span<const uint8_t> raw() const {
    return std::span(bytes).first(is_ipv4() ? 4 : 16);
  }
  auto operator<=>(const Address&) const = default;
};

// Returns the IPv4 address VALUE, given in host byte order.
Address ipv4(uint32_t value);
// Returns the address of 4 or 16 bytes in network byte order, as a packet or a database holds them;
// nothing for other lengths.
std::optional<Address> from_raw(std::span<const uint8_t> raw);

// Parses "10.5.1.7" or "fd00:5::7". Returns kInvalid for anything else: leading zeros or short
// forms of IPv4, IPv4 inside IPv6, zones.
base::Result<Address> parse_address(std::string_view text);
std::string to_string(const Address& address);  // IPv6 in RFC 5952 form

// Return the next or the previous address, wrapping around at the end of the family.
Address next(const Address& address);
Address previous(const Address& address);
// Returns the address COUNT after ADDRESS; nothing if that is behind the end of the family.
std::optional<Address> later(const Address& address, uint32_t count);
// Returns the number of addresses from FIRST to LAST inclusive, at most MOST; 0 if LAST is before
// FIRST or of another family.
uint32_t count_between(const Address& first, const Address& last, uint32_t most);

struct Prefix {
  Address address;  // host bits are zero
  uint8_t length = 32;
  [[nodiscard]] bool contains(const Address& other) const;
  [[nodiscard]] bool overlaps(const Prefix& other) const;
  auto operator<=>(const Prefix&) const = default;
};

// Return the addresses of PREFIX whose host bits are all zero, and all one. The host bits of PREFIX
// may have any value.
Address first_of(const Prefix& prefix);
Address last_of(const Prefix& prefix);

// Returns fe80::/10.
Prefix link_local_ipv6();

// Returns the prefix of ADDRESS alone: /32 or /128.
Prefix host_prefix(const Address& address);

// Parses "10.5.0.0/16" or "fd00:5::/64". Returns kInvalid if host bits are set or the length is too
// large.
base::Result<Prefix> parse_prefix(std::string_view text);
std::string to_string(const Prefix& prefix);

struct MacAddress {
  std::array<uint8_t, 6> bytes{};
  auto operator<=>(const MacAddress&) const = default;
};

base::Result<MacAddress> parse_mac(std::string_view text);  // "02:00:0a:05:c8:0a"
std::string to_string(const MacAddress& mac);

}  // namespace netns
