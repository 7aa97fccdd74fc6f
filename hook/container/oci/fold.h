// SPDX-License-Identifier: Apache-2.0
// How decoders of JSON compare keys.
#pragma once

#include <string>
#include <string_view>

namespace hook::oci {

// Returns NAME as Go's decoder folds a key (encoding/json, foldName): two keys are one for runc,
// and for engines, if their folded names are equal. Of all characters beyond ASCII, only the long s
// (U+017F) and the Kelvin sign (U+212A) fold to a letter. Ends before a NUL, as names do for crun.
[[nodiscard]] std::string folded(std::string_view name);

}  // namespace hook::oci
