// SPDX-License-Identifier: Apache-2.0
// The files by which podman and CRI-O run the hook for every container.
#pragma once

#include <string>
#include <vector>

namespace ipuctl {

// Returns the paths of those that name our hook, as packaging/hooks.d has them.
[[nodiscard]] std::vector<std::string> hook_files();

}  // namespace ipuctl
