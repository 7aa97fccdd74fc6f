// SPDX-License-Identifier: Apache-2.0
// Partitions, and details of one, as text.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/ipuctl/partition_view.h"
#include "cmd/ipuctl/print.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "vipu/types.h"

namespace ipuctl {

// Returns "create partition (p0): success.", as Graphcore's vipu prints it.
[[nodiscard]] std::string success_text(const std::string& verb, const std::string& name);

// Returns "0/0-3 1/8": domains, and the numbers of the IPUs in them.
[[nodiscard]] std::string places_text(const std::vector<vipu::IpuPlace>& ipus);

enum class Holders { kHide, kShow };
// Returns the columns of Graphcore's `vipu list partitions`; with HOLDERS, three more.
[[nodiscard]] std::string partitions_text(const std::vector<PartitionView>& views, Holders holders,
                                          Output output);
[[nodiscard]] std::string partition_json(const PartitionView& view);
[[nodiscard]] std::string partition_text(const PartitionView& view,
                                         const vipu::PartitionStatus& status, Output output);

[[nodiscard]] std::string removed_text(const std::string& name,
                                       const hook::lifecycle::partitions::RemovedPartition& removed,
                                       Output output);

// Returns what VERB ("remove") would do to NAME, and which containers would lose it.
[[nodiscard]] std::string would_text(const std::string& verb, const std::string& name,
                                     const std::vector<std::string>& containers, Output output);

// Returns the IPUoF configurations of all GCDs of NAME: see ipuctl(8).
base::Result<std::string> configs_text(const std::string& name,
                                       const std::vector<vipu::IpuofConfig>& gcds, Output output);

// Returns the columns of Graphcore's `vipu list ipu-attrs`.
[[nodiscard]] std::string attributes_text(const std::vector<vipu::IpuAttributes>& ipus,
                                          Output output);

}  // namespace ipuctl
