// SPDX-License-Identifier: Apache-2.0
// Chooses the low-level runtime (runc, crun) that gets the command line.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace hook::lifecycle {

// Returns the first of CANDIDATES that exists. Fails with kDenied if it is the wrapper,
// a copy of it, or who called this program, or if plain::check_runtime() does not accept it.
base::Result<std::string> choose_runtime(const std::vector<std::string>& candidates);

// Returns the candidates for a command that must work without the configuration (kill, delete,
// state, ...): the runtime of the last create, then the default ones. Only while no create could
// record its runtime does it look into CONFIG_FILE, and does without what cannot be read there.
[[nodiscard]] std::vector<std::string> remembered_runtimes(const std::string& run_dir,
                                                           const std::string& config_file);

// Returns where RUNTIME, called with this --root (empty: without), keeps what it knows of
// CONTAINER; empty if that is unknown.
[[nodiscard]] std::string state_dir_of(const std::string& runtime, const std::string& root,
                                       const std::string& container);

}  // namespace hook::lifecycle
