// SPDX-License-Identifier: Apache-2.0
// toml++ for the files of this folder.
//
// Some malformed texts (such as "[[[") fail an assertion of toml++ 3.3 instead of giving an error.
// The assertion must not end the program. Here it throws, and parse_toml catches the exception like
// toml++'s own.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hook::config {
[[noreturn]] inline void fail_toml_assertion() { throw std::logic_error("assertion of toml++"); }
}  // namespace hook::config

#define TOML_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::hook::config::fail_toml_assertion())
#define TOML_EXCEPTIONS 1
#undef TOML_HEADER_ONLY  // pkg-config may define it as 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

namespace hook::config {

// Parses all of TEXT as TOML; FILE names it in errors, which give the line.
base::Result<toml::table> parse_toml(std::string_view text, const std::string& file);

}  // namespace hook::config
