// SPDX-License-Identifier: Apache-2.0
// The generated files of a lease, on the host. Containers see two of their directories through
// read-only bind mounts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "hook/ledger/lease.h"

namespace hook::inject {

// Returns RUN_DIR/leases/LEASE_ID.
[[nodiscard]] std::string lease_dir(const std::string& run_dir, const std::string& lease_id);

// Writes FILES (path in the lease's directory -> content), mode 0444. The lease's directory has
// mode 0711: nobody but root finds another's. A path may name one folder, of mode 0755, which a
// container's user can list.
base::Status write_lease_files(const std::string& run_dir, const std::string& lease_id,
                               const std::map<std::string, std::string>& files);

// Makes or replaces a file in an existing directory, in one step. A container's lock or lease on
// the old file delays nothing. A file of a build before the folders is rewritten where it is, not
// in one step, because the container has a mount of it. Returns kNotFound if the lease has been
// released meanwhile.
base::Status put_lease_file(const std::string& run_dir, const std::string& lease_id,
                            const std::string& name, const std::string& content);

// Returns the content of a file, or kNotFound. Finds a file of a build before the folders, too.
// Fails with EWOULDBLOCK while a container holds a lease (F_WRLCK) on it.
base::Result<std::string> read_lease_file(const std::string& run_dir, const std::string& lease_id,
                                          const std::string& name);

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

// Returns where the programs of the start write their trace (base/trace.h), beside the record.
[[nodiscard]] std::string trace_file(const std::string& run_dir, const std::string& lease_id);

base::Result<base::Removed> remove_lease_files(const std::string& run_dir,
                                               const std::string& lease_id);

}  // namespace hook::inject
