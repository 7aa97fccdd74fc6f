// SPDX-License-Identifier: Apache-2.0
// The generated files of a lease, on the host: containers see them by read-only bind mounts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "hook/ledger/lease.h"

namespace hook::inject {

// RUN_DIR/leases/LEASE_ID
[[nodiscard]] std::string lease_dir(const std::string& run_dir, const std::string& lease_id);

// Writes the files, mode 0444, into the lease's directory. The directories are 0711: a container's
// user can open a file that it is given, and list none.
base::Status write_lease_files(const std::string& run_dir, const std::string& lease_id,
                               const std::map<std::string, std::string>& files);

// One more, into a directory that is there: kNotFound if the lease has been released meanwhile.
base::Status add_lease_file(const std::string& run_dir, const std::string& lease_id,
                            const std::string& name, const std::string& content);

// One of them, by name; kNotFound if there is none.
base::Result<std::string> read_lease_file(const std::string& run_dir, const std::string& lease_id,
                                          const std::string& name);

// Gives a file that is there new content in place, because a container that sees it by a bind mount
// would go on seeing a file that was replaced. Not atomic: for what nobody reads yet, or reads
// once.
base::Status rewrite_lease_file(const std::string& run_dir, const std::string& lease_id,
                                const std::string& name, const std::string& content);

// The file of a lease's directory that tells a rebuilt ledger of it. It is in no container.
inline constexpr const char* kRecordFile = "ledger.json";
// Writes it, mode 0400, whole or not at all, beside those that write_lease_files() wrote. kNotFound
// if they are gone: the lease has ended.
base::Status write_lease_record(const std::string& run_dir, const ledger::Lease& lease);
// kNotFound if there is none; kInvalid if it is not LEASE_ID's.
base::Result<ledger::Lease> read_lease_record(const std::string& run_dir,
                                              const std::string& lease_id);
// The names of all directories of leases.
base::Result<std::vector<std::string>> list_lease_dirs(const std::string& run_dir);

base::Result<base::Removed> remove_lease_files(const std::string& run_dir,
                                               const std::string& lease_id);

}  // namespace hook::inject
