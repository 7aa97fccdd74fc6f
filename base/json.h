// SPDX-License-Identifier: Apache-2.0
// JSON from untrusted sources, without exceptions. Include this only from .cc files:
// nlohmann/json.hpp is heavy, and no JSON value crosses a folder's border.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace base {

// A JSON value that keeps the order of keys, so that an edited document stays comparable with the
// original.
using Json = nlohmann::ordered_json;

// Parses TEXT as one JSON document. Returns kInvalid, with WHAT and the position, if TEXT is
// malformed, starts with a byte order mark, nests deeper than 128 levels (which would exhaust a
// reader's stack), has more than a million values, has an object with more than 4096 keys (lookup
// is linear), or has a duplicate key (readers differ on which value counts). The time is linear in
// the length of TEXT.
Result<Json> parse_json(std::string_view text, std::string_view what);

// Returns the text of VALUE on one line, in ASCII: a terminal and a log show it as it is. Invalid
// UTF-8 becomes U+FFFD instead of throwing.
std::string to_text(const Json& value);
// Returns the text of VALUE, indented by two, with a newline at the end.
std::string to_pretty_text(const Json& value);

// Returns the member KEY of OBJECT, or kInvalid with WHAT and the key if it is absent or of another
// type.
Result<std::string> get_string(const Json& object, const char* key, std::string_view what);
Result<int64_t> get_int(const Json& object, const char* key, std::string_view what);

}  // namespace base
