// SPDX-License-Identifier: Apache-2.0
#include "hook/container/oci/capability.h"

#include <algorithm>

namespace hook::oci {

bool may_be_one_of(std::string_view text, const std::vector<std::string>& names) {
  std::string name(text);
  for (char& c : name) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
    if ((c < 'A' || c > 'Z') && c != '_') return true;
  }
  return !name.starts_with("CAP_") || std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace hook::oci
