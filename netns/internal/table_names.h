// SPDX-License-Identifier: Apache-2.0
// The names of the tables in the host's namespace.
#pragma once

namespace netns::nft {

inline constexpr const char* kBorderName = "ipu-border";
inline constexpr const char* kGuardName = "ipu-guard";

}  // namespace netns::nft
