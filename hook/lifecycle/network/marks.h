// SPDX-License-Identifier: Apache-2.0
// Marks of the network namespaces that have interfaces of leases. A process that asks for no IPUs
// learns by one stat, without the ledger, that it would share such a namespace. A mark is the file
// RUN_DIR/namespaces/DEVICE-INODE/LEASE-ID, and holds the namespace's cookie, because the kernel
// gives an inode again.
#pragma once

#include <string>

#include "base/result.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::network {

// Marks the namespace in which LEASE is being attached.
base::Status mark_namespace(const std::string& run_dir, const ledger::Lease& lease);

// Removes the mark of LEASE. An absent mark is not an error.
base::Status unmark_namespace(const std::string& run_dir, const ledger::Lease& lease);

// Removes the marks of leases that have ended.
base::Status sweep_marks(Env& env);

// Returns whether the network namespace at PATH, such as /proc/PID/ns/net, has a mark. Returns
// false in every doubt.
[[nodiscard]] bool is_marked(const std::string& run_dir, const std::string& path);

}  // namespace hook::lifecycle::network
