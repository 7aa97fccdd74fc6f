// SPDX-License-Identifier: Apache-2.0
// JSON from outside, without exceptions. Include from .cc files only: nlohmann/json.hpp is heavy,
// and no JSON value crosses a folder's border.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace base {

// Keeps the order of keys, so that an edited document stays comparable with the original.
using Json = nlohmann::ordered_json;

// TEXT as one JSON document. kInvalid, with WHAT and the position, if it is not; also if it nests
// deeper than 128 levels, which would exhaust the stack of a reader, if it starts with a byte order
// mark, if an object has more than 4096 keys, which are looked up one by one, or if it has a key
// twice: readers differ on which of the two counts.
Result<Json> parse_json(std::string_view text, std::string_view what);

// The text of VALUE on one line. Invalid UTF-8 becomes U+FFFD instead of throwing.
std::string to_text(const Json& value);
// The same, indented by two, with a newline at the end.
std::string to_pretty_text(const Json& value);

// The member KEY of OBJECT, of the type asked for; kInvalid with WHAT and the key otherwise.
Result<std::string> get_string(const Json& object, const char* key, std::string_view what);
Result<int64_t> get_int(const Json& object, const char* key, std::string_view what);

}  // namespace base
