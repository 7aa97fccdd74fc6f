// SPDX-License-Identifier: Apache-2.0
// What an answer costs when it is parsed.
#pragma once

#include <cstddef>
#include <string_view>

namespace transport {

// An answer with more fields is not parsed. A field of two bytes becomes an object of hundreds. A
// POD of a thousand IPUs needs some ten thousand.
inline constexpr size_t kMostFields = 200'000;

// No message of the V-IPU API is deeper.
inline constexpr int kDeepest = 16;
// Returns whether MESSAGE, in the encoding of protobuf, may have more fields than kMostFields,
// those of inner messages included, down to DEEPEST of them within each other. A text above that
// may look like an inner message, so it counts as one.
[[nodiscard]] bool has_too_many_fields(std::string_view message, int deepest = kDeepest);

}  // namespace transport
