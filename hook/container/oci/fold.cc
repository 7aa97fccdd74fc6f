// SPDX-License-Identifier: Apache-2.0
#include "hook/container/oci/fold.h"

namespace hook::oci {

std::string folded(std::string_view name) {
  constexpr std::string_view kLongS = "\xc5\xbf";
  constexpr std::string_view kKelvin = "\xe2\x84\xaa";
  std::string out;
  while (!name.empty() && name.front() != '\0') {
    const bool long_s = name.starts_with(kLongS);
    const bool kelvin = name.starts_with(kKelvin);
    const char c = long_s ? 's' : kelvin ? 'k' : name.front();
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    name.remove_prefix(long_s ? kLongS.size() : kelvin ? kKelvin.size() : 1);
  }
  return out;
}

}  // namespace hook::oci
