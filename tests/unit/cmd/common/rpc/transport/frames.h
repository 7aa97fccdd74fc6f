// SPDX-License-Identifier: Apache-2.0
// The frames of a server, written byte by byte (RFC 9113, RFC 7541).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

namespace transport::frames {

inline constexpr uint8_t kData = 0;
inline constexpr uint8_t kHeaders = 1;
inline constexpr uint8_t kReset = 3;
inline constexpr uint8_t kSettings = 4;
inline constexpr uint8_t kGoAway = 7;
inline constexpr uint8_t kEndStream = 1;
inline constexpr uint8_t kEndHeaders = 4;

inline std::string number(uint32_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i));
  return text;
}

inline std::string frame(uint8_t type, uint8_t flags, uint32_t stream, const std::string& payload) {
  return number(static_cast<uint32_t>(payload.size()), 3) + number(type, 1) + number(flags, 1) +
         number(stream, 4) + payload;
}

using Fields = std::initializer_list<std::pair<std::string, std::string>>;

// Each as a literal that is never indexed, without Huffman's code.
inline std::string headers(uint32_t stream, uint8_t flags, const Fields& fields) {
  std::string block;
  for (const auto& [name, value] : fields) {
    block += number(0x10, 1) + number(static_cast<uint32_t>(name.size()), 1) + name +
             number(static_cast<uint32_t>(value.size()), 1) + value;
  }
  return frame(kHeaders, kEndHeaders | flags, stream, block);
}

inline std::string message(const std::string& text, uint8_t compressed = 0) {
  return number(compressed, 1) + number(static_cast<uint32_t>(text.size()), 4) + text;
}

}  // namespace transport::frames
