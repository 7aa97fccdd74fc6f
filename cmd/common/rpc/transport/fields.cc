// SPDX-License-Identifier: Apache-2.0
#include "cmd/common/rpc/transport/fields.h"

#include <cstdint>
#include <optional>

namespace transport {
namespace {

// The kinds of a field in protobuf's encoding. Groups, which are old, have no length of their own.
enum Kind : unsigned { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// Takes a number off the front of BYTES; absent if there is none.
std::optional<uint64_t> take_varint(std::string_view& bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    value |= uint64_t{byte & 0x7FU} << (7 * i);
    if ((byte & 0x80U) != 0) continue;
    bytes.remove_prefix(i + 1);
    return value;
  }
  return std::nullopt;
}

// Returns the number of fields before the first byte that is none, or more than kMostFields.
size_t count(std::string_view bytes, int deepest) {
  size_t fields = 0;
  while (!bytes.empty() && fields <= kMostFields) {
    const std::optional<uint64_t> tag = take_varint(bytes);
    if (!tag) break;
    ++fields;
    const auto kind = static_cast<unsigned>(*tag & 7U);
    uint64_t size = kind == kFixed64 ? 8 : kind == kFixed32 ? 4 : 0;
    if (kind == kVarint || kind == kBytes) {
      const std::optional<uint64_t> number = take_varint(bytes);
      if (!number) break;
      if (kind == kBytes) size = *number;
    }
    if (size > bytes.size()) break;
    const auto length = static_cast<size_t>(size);
    if (kind == kBytes && deepest > 0) fields += count(bytes.substr(0, length), deepest - 1);
    bytes.remove_prefix(length);
  }
  return fields;
}

}  // namespace

bool has_too_many_fields(std::string_view message, int deepest) {
  return count(message, deepest) > kMostFields;
}

}  // namespace transport
