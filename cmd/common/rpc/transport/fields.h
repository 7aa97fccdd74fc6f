// SPDX-License-Identifier: Apache-2.0
// What an answer costs when it is parsed.
#pragma once

#include <cstddef>
#include <string_view>

namespace transport {

// An answer with more fields is not parsed. A field of two bytes becomes an object of hundreds. A
// POD of a thousand IPUs needs some ten thousand.
inline constexpr size_t kMostFields = 200'000;

// Returns whether MESSAGE, in the encoding of protobuf, may have more fields than kMostFields,
// those of inner messages included. A text may look like an inner message, so it counts as one.
[[nodiscard]] bool has_too_many_fields(std::string_view message);

}  // namespace transport
