// SPDX-License-Identifier: Apache-2.0
// How ipuctl shows things: tables for people, JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "hook/ledger/lease.h"
#include "hook/lifecycle/release.h"
#include "vipu/types.h"

namespace ipuctl {

enum class Output { kTable, kJson };

// Rows of cells below a heading, in columns as wide as they need.
[[nodiscard]] std::string table(const std::vector<std::vector<std::string>>& rows);

[[nodiscard]] std::string version_text(Output output);
[[nodiscard]] std::string leases_text(const std::vector<hook::Lease>& leases, Output output);
[[nodiscard]] std::string lease_text(const hook::Lease& lease, Output output);
// LEASES tell which container holds which partition.
[[nodiscard]] std::string partitions_text(const std::vector<vipu::Partition>& partitions,
                                          const std::vector<hook::Lease>& leases, Output output);
[[nodiscard]] std::string orphans_text(const std::vector<hook::Lease>& orphans, Output output);
[[nodiscard]] std::string reconciled_text(const hook::Reconciled& reconciled, Output output);

}  // namespace ipuctl
