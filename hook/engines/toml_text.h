// SPDX-License-Identifier: Apache-2.0
// TOML that is written.
#pragma once

#include <string>
#include <string_view>

namespace hook::engines {

// TEXT as a TOML string; it has no control characters.
[[nodiscard]] inline std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char character : text) {
    if (character == '"' || character == '\\') out += '\\';
    out += character;
  }
  return out + "\"";
}

}  // namespace hook::engines
