// SPDX-License-Identifier: Apache-2.0
// The generated files of a lease, on the host. Containers see them through read-only bind mounts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "hook/ledger/lease.h"

namespace hook::inject {

// Returns RUN_DIR/leases/LEASE_ID.
[[nodiscard]] std::string lease_dir(const std::string& run_dir, const std::string& lease_id);

// Writes the files, mode 0444, into the lease's directory. Directories have mode 0711: a
// container's user can open the files that it is given, but list none.
base::Status write_lease_files(const std::string& run_dir, const std::string& lease_id,
                               const std::map<std::string, std::string>& files);

// Adds a file to an existing directory. Returns kNotFound if the lease has been released meanwhile.
base::Status add_lease_file(const std::string& run_dir, const std::string& lease_id,
                            const std::string& name, const std::string& content);

// Returns the content of a file, or kNotFound.
base::Result<std::string> read_lease_file(const std::string& run_dir, const std::string& lease_id,
                                          const std::string& name);

// Rewrites a file in place: a container with a bind mount of a replaced file would still see the
// old one. Not atomic: only for files that nobody reads yet, or that are read once.
base::Status rewrite_lease_file(const std::string& run_dir, const std::string& lease_id,
                                const std::string& name, const std::string& content);

// The file of a lease's directory from which a ledger is rebuilt. No container sees it.
inline constexpr const char* kRecordFile = "ledger.json";
// Writes the record, mode 0400, atomically, beside the files of write_lease_files(). Returns
// kNotFound if those are gone, because the lease has ended.
base::Status write_lease_record(const std::string& run_dir, const ledger::Lease& lease);
// Returns kNotFound if there is no record, and kInvalid if it is not LEASE_ID's.
base::Result<ledger::Lease> read_lease_record(const std::string& run_dir,
                                              const std::string& lease_id);
// Returns the names of all lease directories.
base::Result<std::vector<std::string>> list_lease_dirs(const std::string& run_dir);

base::Result<base::Removed> remove_lease_files(const std::string& run_dir,
                                               const std::string& lease_id);

}  // namespace hook::inject
