// SPDX-License-Identifier: Apache-2.0
// Names of capabilities, as low-level runtimes take them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hook::oci {

// Returns whether a runtime may take TEXT, an item of a set of capabilities, for one of NAMES
// ("CAP_NET_RAW"). Only another name in full, of letters after "CAP_", cannot be one: crun asks
// libcap, which takes any case, takes numbers, and ignores what follows the letters; youki takes
// names without "CAP_".
[[nodiscard]] bool may_be_one_of(std::string_view text, const std::vector<std::string>& names);

}  // namespace hook::oci
