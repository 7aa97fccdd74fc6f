// SPDX-License-Identifier: Apache-2.0
// What an earlier start with IPUs left in a bundle that now asks for none.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hook::lifecycle::start {

// Returns SPEC, a config.json that asks for no IPUs, without the mounts, devices, hooks, variables
// and annotations that an earlier start added: the files of that lease are gone, and no container
// starts with them. Returns nothing if SPEC may stay as it is, and in every doubt.
[[nodiscard]] std::optional<std::string> without_leftovers(const std::string& run_dir,
                                                           const std::string& hook_program,
                                                           const std::string& poststop_program,
                                                           std::string_view spec);

}  // namespace hook::lifecycle::start
