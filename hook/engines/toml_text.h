// SPDX-License-Identifier: Apache-2.0
// Writing TOML.
#pragma once

#include <string>
#include <string_view>

namespace hook::engines {

// Returns TEXT, which has no control characters, as a TOML string.
[[nodiscard]] inline std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char character : text) {
    if (character == '"' || character == '\\') out += '\\';
    out += character;
  }
  return out + "\"";
}

}  // namespace hook::engines
