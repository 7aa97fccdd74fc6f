// SPDX-License-Identifier: Apache-2.0
// Backfill with a V-IPU controller. It places partitions by itself, and so could take the IPUs that
// are pinned for another request. A request that leaves them names the IPUs that it wants
// (PartitionRequirements.ipus of V-IPU, which needs a cluster). Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "vipu/types.h"

namespace vipu {

// Returns SURVEY with the partitions of CLUSTER alone; all, if that is empty. IPUs are numbered in
// their cluster.
Survey of_cluster(Survey survey, const std::string& cluster);

// Returns REQUEST with the IPUs that it names: a free block of SURVEY beside what keep() keeps for
// REQUEST.pinned. Returns kBusy if there is none, or if the request is for an allocation, whose
// IPUs a survey does not tell. Without a pinned block, the request stays as it is.
base::Result<PartitionRequest> choose_beside(PartitionRequest request, const Survey& survey);

// Succeeds if the partition that was made for REQUEST has the IPUs that it names: whether each
// controller follows them is not known. Returns kBusy if it has others, kNotFound if it is not
// LISTED with all of them yet.
base::Status check_chosen(const PartitionRequest& request, const std::vector<Partition>& listed);

}  // namespace vipu
