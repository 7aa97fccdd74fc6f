// SPDX-License-Identifier: Apache-2.0
// The low-level runtime (runc, crun) that the last create chose.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace hook::plain {

// Returns the absolute path of the low-level runtime of the last create; empty if none is recorded.
[[nodiscard]] std::string remembered_runtime(const std::string& run_dir);
// Records RUNTIME as that. Does nothing if it is already.
base::Status remember_runtime(const std::string& run_dir, const std::string& runtime);

// Checks that PATH exists and is a regular file that root owns (in a user namespace: a user who is
// not mapped there) and nobody else can write, and no program that would come back here (caller.h).
// kNotFound or kDenied.
base::Status check_runtime(const std::string& path);

// A record of what chose the low-level runtime: the configuration's file as it was, and the paths
// before the chosen one, at which nothing was. While both are still so, the choice is the same.
//
// Returns the state of CONFIG_FILE, from before it is read.
[[nodiscard]] std::string state_of(const std::string& config_file);
// Records that CONFIG_FILE in STATE chose RUNTIME among CANDIDATES. Removes the record if the file
// has changed since, or if the choice depends on more.
base::Status record_choice(const std::string& run_dir, const std::string& config_file,
                           const std::string& state, const std::vector<std::string>& candidates,
                           const std::string& runtime);
// Removes the record: each create reads the configuration again.
void forget_choice(const std::string& run_dir);

}  // namespace hook::plain
