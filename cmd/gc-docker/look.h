// SPDX-License-Identifier: Apache-2.0
// The environment, files and devices of the host that gc-docker decides on.
#pragma once

#include <string>

#include "cmd/gc-docker/front_end/arguments.h"
#include "cmd/gc-docker/front_end/caller.h"

namespace front {

// Returns the host as the caller, who need not be root, sees it. What cannot be read counts as
// absent. Reads only the files that ARGUMENTS could mean.
[[nodiscard]] front::Caller look(const front::FrontEndArguments& arguments, std::string engine,
                                 std::string runtime);

}  // namespace front
