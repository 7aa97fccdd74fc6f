// SPDX-License-Identifier: Apache-2.0
// A program that goes on without its caller.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace base {

// Starts PATH (absolute) with ARGS (argv[0] included) as a process that this one neither waits for
// nor ends: not its child, in a session of its own, with "/" as its working directory, /dev/null as
// its three standard streams, no other descriptor, no blocked signal and an empty environment.
// kNotFound or kDenied if PATH cannot be executed. What becomes of the program is not seen.
Status start_detached(const std::string& path, const std::vector<std::string>& args);

}  // namespace base
