// SPDX-License-Identifier: Apache-2.0
#include "netns/address.h"

#include <vector>

#include "base/text.h"

namespace netns {
namespace {

using base::Code;
using base::Error;
using base::quote;
using base::Result;
using base::str;

uint32_t mask_of(uint8_t length) { return length == 0 ? 0 : ~uint32_t{0} << (32 - length); }

// A leading zero is refused because the C library reads it as octal.
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

}  // namespace

Result<Ipv4> parse_ipv4(std::string_view text) {
  const std::vector<std::string_view> octets = base::split(text, '.');
  bool valid = octets.size() == 4;
  for (const std::string_view octet : octets) valid = valid && is_octet(octet);
  if (!valid) {
    return Error(Code::kInvalid, str(quote(text), " is not an IPv4 address like 10.5.1.7"));
  }
  Ipv4 address;
  for (const std::string_view octet : octets) {
    const auto value = TRY(base::parse_int<uint32_t>(octet, 0, 255));
    address.value = address.value << 8 | value;
  }
  return address;
}

std::string to_string(Ipv4 address) {
  const uint32_t v = address.value;
  return str(v >> 24, '.', v >> 16 & 0xff, '.', v >> 8 & 0xff, '.', v & 0xff);
}

bool Ipv4Prefix::contains(Ipv4 other) const {
  return ((address.value ^ other.value) & mask_of(length)) == 0;
}

Result<Ipv4Prefix> parse_ipv4_prefix(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return Error(Code::kInvalid, str(quote(text), " is not an IPv4 prefix like 10.5.0.0/16"));
  }
  const auto address = TRY(parse_ipv4(text.substr(0, slash)));
  const std::string_view bits = text.substr(slash + 1);
  const auto length = TRY_CTX(str("prefix ", quote(text)), (base::parse_int<uint8_t>(bits, 0, 32)));
  if ((address.value & ~mask_of(length)) != 0) {
    const Ipv4Prefix meant{Ipv4{address.value & mask_of(length)}, length};
    return Error(Code::kInvalid,
                 str("prefix ", quote(text), " has host bits set; write ", to_string(meant)));
  }
  return Ipv4Prefix{address, length};
}

std::string to_string(const Ipv4Prefix& prefix) {
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
