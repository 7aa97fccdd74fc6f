// SPDX-License-Identifier: Apache-2.0
// Which low-level runtime (runc, crun) gets the command line.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace hook::lifecycle {

// The first of CANDIDATES that exists. It must be a regular file of root that nobody else can
// write (in a user namespace: of a user who is not mapped there), and not this program itself;
// kDenied otherwise.
base::Result<std::string> choose_runtime(const std::vector<std::string>& candidates);

// The candidates for a command that must work without the configuration (kill, delete, state, ...):
// the runtime that was last chosen from it, then the default ones.
[[nodiscard]] std::vector<std::string> remembered_runtimes(const std::string& run_dir);

// Makes RUNTIME the one that is chosen from remembered_runtimes(). Does nothing if it is already,
// by whatever path.
base::Status remember_runtime(const std::string& run_dir, const std::string& runtime);

// Removes what a process that ended in remember_runtime() left.
base::Status remove_half_made_links(const std::string& run_dir);

// Where RUNTIME, called with this --root (empty: without), keeps what it knows of CONTAINER; empty
// if that cannot be told.
[[nodiscard]] std::string state_dir_of(const std::string& runtime, const std::string& root,
                                       const std::string& container);

}  // namespace hook::lifecycle
