// SPDX-License-Identifier: Apache-2.0
// Which low-level runtime (runc, crun) gets the command line.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace hook {

// The first of CANDIDATES that exists. It must be a regular file of root that nobody else can
// write, and not this program itself; kDenied otherwise.
base::Result<std::string> choose_runtime(const std::vector<std::string>& candidates);

// The candidates for a command that must work without the configuration (kill, delete, state, ...):
// the runtime that was last chosen from it, then the default ones.
[[nodiscard]] std::vector<std::string> remembered_runtimes(const std::string& run_dir);

// Makes RUNTIME the one that is chosen from remembered_runtimes(). Does nothing if it is already.
base::Status remember_runtime(const std::string& run_dir, const std::string& runtime);

}  // namespace hook
