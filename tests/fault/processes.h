// SPDX-License-Identifier: Apache-2.0
// Which programs of the product run.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace fault {

// "process 17 of /usr/local/bin/ipuctl"; the simulator and endpoints, which stay,
// are none of them.
[[nodiscard]] std::vector<std::string> running_programs();

// The pids of all V-IPU endpoints.
[[nodiscard]] std::vector<std::string> running_endpoints();

// Returns when none runs: what goes on behind a program that has ended, such as a release or the
// question for a duplicate, is done. kTimeout after a time that none of them takes.
base::Status settle();

}  // namespace fault
