// SPDX-License-Identifier: Apache-2.0
// Links below the run directory whose targets are records: read and replaced by one system call.
#pragma once

#include <string>

#include "base/result.h"

namespace hook::plain {

// Returns the target of RUN_DIR/NAME; empty if there is none.
[[nodiscard]] std::string read_link(const std::string& run_dir, const std::string& name);

// Makes RUN_DIR/NAME a link with this TARGET, in one step. NAME is "runtime" or "choice".
base::Status replace_link(const std::string& run_dir, const std::string& name,
                          const std::string& target);

// Removes what processes that ended inside replace_link() left.
base::Status remove_half_made_links(const std::string& run_dir);

}  // namespace hook::plain
