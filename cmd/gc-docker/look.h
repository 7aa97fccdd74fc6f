// SPDX-License-Identifier: Apache-2.0
// Reading what gc-docker decides on: environment, files and devices of the host.
#pragma once

#include <string>

#include "cmd/gc-docker/front_end/arguments.h"
#include "cmd/gc-docker/front_end/caller.h"

namespace front {

// The host as it is for who calls, who need not be root: what cannot be read is taken not to be
// there. Of files, those that ARGUMENTS could mean.
[[nodiscard]] front::Caller look(const front::FrontEndArguments& arguments, std::string engine,
                                 std::string runtime);

}  // namespace front
