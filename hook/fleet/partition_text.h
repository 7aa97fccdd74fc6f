// SPDX-License-Identifier: Apache-2.0
// How the store keeps partitions and claims: one JSON object for each.
#pragma once

#include <string>
#include <vector>

#include "hook/fleet/partitions.h"

namespace hook::fleet {

[[nodiscard]] std::string partition_prefix(const std::string& prefix, const PartitionName& name);
[[nodiscard]] std::string record_key(const std::string& prefix, const PartitionName& name);
[[nodiscard]] std::string claim_key(const std::string& prefix, const PartitionName& name,
                                    const std::string& id);

[[nodiscard]] std::string record_text(const PartitionView& view);
[[nodiscard]] std::string claim_text(const Claim& claim);

// Returns the partitions of LISTING, whose keys are below PREFIX partitions/. One without a record
// has its claims, and is modified at 0. What cannot be read is in OBSTACLES, and its partition is
// left out.
[[nodiscard]] std::vector<PartitionView> parse_partitions(const std::string& prefix,
                                                          const Listing& listing,
                                                          std::vector<base::Error>& obstacles);

// Returns "partition 'p0' of pool 'pod64'", as errors have it.
[[nodiscard]] std::string text_of(const PartitionName& name);

}  // namespace hook::fleet
