// SPDX-License-Identifier: Apache-2.0
#include "netns/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/names.h"
#include "base/text.h"

namespace netns {
namespace {

using namespace base::names;

// Refuses a leading zero, which the C library reads as octal.
bool is_octet(std::string_view text) {
  if (text.size() > 1 && text.front() == '0') return false;
  return base::parse_int<uint32_t>(text, 0, 255).ok();
}

bool is_hex_pair(std::string_view text) {
  const auto is_digit = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  };
  return text.size() == 2 && is_digit(text[0]) && is_digit(text[1]);
}

Result<Address> parse_ipv4(std::string_view text) {
  const std::vector<std::string_view> octets = base::split(text, '.');
  bool valid = octets.size() == 4;
  for (const std::string_view octet : octets) valid = valid && is_octet(octet);
  if (!valid) {
    return Error(Code::kInvalid,
                 str(quote(text), " is not an IP address like 10.5.1.7 or fd00:5::7"));
  }
  Address address;
  for (size_t i = 0; i < octets.size(); ++i) {
    address.bytes[i] = TRY(base::parse_int<uint8_t>(octets[i], 0, 255));
  }
  return address;
}

Result<Address> parse_ipv6(std::string_view text) {
  Address address;
  address.family = Family::kIpv6;
  const bool has_ipv4 = text.find('.') != std::string_view::npos;
  if (has_ipv4 || inet_pton(AF_INET6, std::string(text).c_str(), address.bytes.data()) != 1) {
    return Error(Code::kInvalid, str(quote(text), " is not an IPv6 address like fd00:5::7"));
  }
  return address;
}

// Returns ADDRESS with all bits after the first LENGTH cleared.
Address masked(Address address, uint8_t length) {
  for (size_t i = 0; i < address.bytes.size(); ++i) {
    const int kept = std::clamp(length - static_cast<int>(8 * i), 0, 8);
    address.bytes[i] = static_cast<uint8_t>(address.bytes[i] & 0xff00 >> kept);
  }
  return address;
}

uint8_t bits_of(Family family) { return family == Family::kIpv4 ? 32 : 128; }

// Adds STEP, 1 or 0xff (which is -1), to the last byte and carries.
Address moved(Address address, uint8_t step) {
  const uint8_t carry_out = step == 1 ? 0 : 0xff;
  for (size_t i = address.raw().size(); i-- > 0;) {
    address.bytes[i] = static_cast<uint8_t>(address.bytes[i] + step);
    if (address.bytes[i] != carry_out) break;
  }
  return address;
}

}  // namespace

Address ipv4(uint32_t value) {
  Address address;
  for (size_t i = 0; i < 4; ++i) address.bytes[i] = static_cast<uint8_t>(value >> (24 - 8 * i));
  return address;
}

std::optional<Address> from_raw(std::span<const uint8_t> raw) {
  Address address;
  if (raw.size() != 4 && raw.size() != 16) return std::nullopt;
  address.family = raw.size() == 4 ? Family::kIpv4 : Family::kIpv6;
  std::copy(raw.begin(), raw.end(), address.bytes.begin());
  return address;
}

Result<Address> parse_address(std::string_view text) {
  return text.find(':') == std::string_view::npos ? parse_ipv4(text) : parse_ipv6(text);
}

std::string to_string(const Address& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = address.is_ipv4() ? AF_INET : AF_INET6;
  inet_ntop(family, address.bytes.data(), text.data(), text.size());
  return text.data();
}

Address next(const Address& address) { return moved(address, 1); }
Address previous(const Address& address) { return moved(address, 0xff); }

std::optional<Address> later(const Address& address, uint32_t count) {
  Address sum = address;
  uint64_t carry = count;
  for (size_t i = address.raw().size(); i-- > 0; carry >>= 8) {
    carry += sum.bytes[i];
    sum.bytes[i] = static_cast<uint8_t>(carry);
  }
  if (carry != 0) return std::nullopt;
  return sum;
}

uint32_t count_between(const Address& first, const Address& last, uint32_t most) {
  if (first.family != last.family || last < first) return 0;
  uint64_t distance = 0;
  for (size_t i = 0; i < first.raw().size(); ++i) {
    // The difference so far is never negative, and stays large once it is large.
    distance = (distance << 8) + last.bytes[i] - first.bytes[i];
    if (distance > uint64_t{most} + 256) return most;
  }
  return static_cast<uint32_t>(std::min<uint64_t>(distance + 1, most));
}

Address first_of(const Prefix& prefix) { return masked(prefix.address, prefix.length); }

Address last_of(const Prefix& prefix) {
  Address last = prefix.address;
  for (size_t bit = prefix.length; bit < 8 * last.raw().size(); ++bit) {
    last.bytes[bit / 8] = static_cast<uint8_t>(last.bytes[bit / 8] | 0x80 >> bit % 8);
  }
  return last;
}

Prefix link_local_ipv6() {
  Address first;
  first.family = Family::kIpv6;
  first.bytes = {0xfe, 0x80};
  return {first, 10};
}

bool Prefix::contains(const Address& other) const {
  return address.family == other.family && masked(other, length) == address;
}

bool Prefix::overlaps(const Prefix& other) const {
  return contains(other.address) || other.contains(address);
}

Prefix host_prefix(const Address& address) { return {address, bits_of(address.family)}; }

Result<Prefix> parse_prefix(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return Error(Code::kInvalid,
                 str(quote(text), " is not a prefix like 10.5.0.0/16 or fd00:5::/64"));
  }
  const auto address = TRY(parse_address(text.substr(0, slash)));
  const std::string_view bits = text.substr(slash + 1);
  const auto length = TRY_CTX(str("prefix ", quote(text)),
                              base::parse_int<uint8_t>(bits, 0, bits_of(address.family)));
  const Prefix meant{masked(address, length), length};
  if (meant.address != address) {
    return Error(Code::kInvalid,
                 str("prefix ", quote(text), " has host bits set; write ", to_string(meant)));
  }
  return meant;
}

std::string to_string(const Prefix& prefix) {
  return str(to_string(prefix.address), '/', prefix.length);
}

Result<MacAddress> parse_mac(std::string_view text) {
  const std::vector<std::string_view> pairs = base::split(text, ':');
  bool valid = pairs.size() == 6;
  for (const std::string_view pair : pairs) valid = valid && is_hex_pair(pair);
  if (!valid) {
    return Error(Code::kInvalid, str(quote(text), " is not a MAC address like 02:00:0a:05:c8:0a"));
  }
  MacAddress mac;
  for (size_t i = 0; i < 6; ++i) {
    std::from_chars(pairs[i].data(), pairs[i].data() + 2, mac.bytes[i], 16);
  }
  return mac;
}

std::string to_string(const MacAddress& mac) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : mac.bytes) {
    if (!text.empty()) text += ':';
    text += kDigits[byte >> 4];
    text += kDigits[byte & 0xf];
  }
  return text;
}

}  // namespace netns
