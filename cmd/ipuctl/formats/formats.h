// SPDX-License-Identifier: Apache-2.0
// JSON values in other formats, for programs.
#pragma once

#include <string>

#include "base/json.h"

namespace ipuctl::formats {

// Returns TEXT as a cell of CSV in quotes (RFC 4180). A spreadsheet takes a cell that begins with
// '=', '+', '-' or '@' for a formula also then: an apostrophe comes before such a text.
[[nodiscard]] std::string csv_quoted(const std::string& text);

// Returns LIST, an array of objects, as CSV (RFC 4180, with lines that end in a newline alone): the
// first line has the keys, in the order in which they first appear. A value that is an array or an
// object is its JSON. Empty for an empty list.
[[nodiscard]] std::string csv_text(const base::Json& list);

// Returns VALUE as YAML, which every reader takes for the same value: all texts are in quotes.
[[nodiscard]] std::string yaml_text(const base::Json& value);

}  // namespace ipuctl::formats
