// SPDX-License-Identifier: Apache-2.0
// What each command may still do once its words are understood.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "hook/confinement/enter.h"

namespace ipuctl {

// Returns the phase of COMMAND, such as "ipuctl lease show"; none for a command that keeps what its
// caller has, because it runs programs that are not ours. SECURITY.md lists both.
[[nodiscard]] std::optional<hook::confinement::Phase> phase_of(std::string_view command);

// Confines this process to the phase of COMMAND, which must stay valid, if it has one.
base::Status confine(const std::string& command);

}  // namespace ipuctl
