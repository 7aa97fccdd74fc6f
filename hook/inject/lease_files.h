// SPDX-License-Identifier: Apache-2.0
// The generated files of a lease, on the host: containers see them by read-only bind mounts.
#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace hook {

// RUN_DIR/leases/LEASE_ID
[[nodiscard]] std::string lease_dir(const std::string& run_dir, const std::string& lease_id);

// Writes the files, mode 0444, into the lease's directory. The directories are 0711: a container's
// user can open a file that it is given, and list none.
base::Status write_lease_files(const std::string& run_dir, const std::string& lease_id,
                               const std::map<std::string, std::string>& files);

// One of them, by name; kNotFound if there is none.
base::Result<std::string> read_lease_file(const std::string& run_dir, const std::string& lease_id,
                                          const std::string& name);

// Gives a file that is there new content in place, because a container that sees it by a bind mount
// would go on seeing a file that was replaced. Not atomic: for what nobody reads yet, or reads
// once.
base::Status rewrite_lease_file(const std::string& run_dir, const std::string& lease_id,
                                const std::string& name, const std::string& content);

base::Result<base::Removed> remove_lease_files(const std::string& run_dir,
                                               const std::string& lease_id);

}  // namespace hook
