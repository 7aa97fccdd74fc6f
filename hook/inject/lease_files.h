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

base::Result<base::Removed> remove_lease_files(const std::string& run_dir,
                                               const std::string& lease_id);

}  // namespace hook
