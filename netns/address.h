// SPDX-License-Identifier: Apache-2.0
// IPv4 addresses, prefixes and MAC addresses as values.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace netns {

struct Ipv4 {
  uint32_t value = 0;  // host byte order
  auto operator<=>(const Ipv4&) const = default;
};

// "10.5.1.7"; kInvalid for anything else (no leading zeros, no short forms).
base::Result<Ipv4> parse_ipv4(std::string_view text);
std::string to_string(Ipv4 address);

struct Ipv4Prefix {
  Ipv4 address;  // its host bits are zero
  uint8_t length = 32;
  [[nodiscard]] bool contains(Ipv4 other) const;
  auto operator<=>(const Ipv4Prefix&) const = default;
};

// "10.5.0.0/16"; kInvalid when host bits are set or the length is not 0 to 32.
base::Result<Ipv4Prefix> parse_ipv4_prefix(std::string_view text);
std::string to_string(const Ipv4Prefix& prefix);

struct MacAddress {
  std::array<uint8_t, 6> bytes{};
  auto operator<=>(const MacAddress&) const = default;
};

base::Result<MacAddress> parse_mac(std::string_view text);  // "02:00:0a:05:c8:0a"
std::string to_string(const MacAddress& mac);

}  // namespace netns
