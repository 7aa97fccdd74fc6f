// SPDX-License-Identifier: Apache-2.0
#include "vipu/beside.h"

#include <algorithm>

#include "base/names.h"
#include "vipu/backfill.h"
#include "vipu/placement.h"

namespace vipu {

using namespace base::names;

Survey of_cluster(Survey survey, const std::string& cluster) {
  std::erase_if(survey.partitions, [&](const Partition& one) {
    return !cluster.empty() && !one.cluster.empty() && one.cluster != cluster;
  });
  return survey;
}

Result<PartitionRequest> choose_beside(PartitionRequest request, const Survey& survey) {
  if (!request.pinned) return request;
  if (!request.allocation.empty()) {
    return Error(Code::kBusy, str("the IPUs of allocation ", base::quote(request.allocation),
                                  " are not known, and others are kept for a request that waits"));
  }
  Occupancy occupancy = Occupancy::of(of_cluster(survey, request.cluster));
  keep(occupancy, *request.pinned);
  const Wanted wanted{request.size, 1};
  const std::optional<std::vector<Block>> blocks = place(occupancy, wanted);
  if (!blocks) {
    return Error(Code::kBusy, str("no free block of ", request.size,
                                  " IPUs beside those that are kept for a request that waits"));
  }
  request.ipus.clear();
  for (uint32_t i = 0; i < request.size; ++i)
    request.ipus.push_back({occupancy.topology().place_of(blocks->front().first + i), 0, i});
  return request;
}

Status check_chosen(const PartitionRequest& request, const std::vector<Partition>& listed) {
  const auto made = std::find_if(listed.begin(), listed.end(),
                                 [&](const Partition& one) { return one.id == request.id; });
  if (made == listed.end())
    return Error(Code::kNotFound, str("partition ", base::quote(request.id), " is gone"));
  const auto is_chosen = [&](const IpuPlace& place) {
    return std::any_of(request.ipus.begin(), request.ipus.end(),
                       [&](const ChosenIpu& chosen) { return chosen.place == place; });
  };
  const bool has_no_other = std::all_of(made->ipus.begin(), made->ipus.end(), is_chosen);
  if (has_no_other && made->ipus.size() == request.ipus.size()) return {};
  if (has_no_other && made->ipus.size() < request.ipus.size())
    return Error(Code::kNotFound, str("partition ", base::quote(request.id), " is not whole yet"));
  return Error(Code::kBusy, str("partition ", base::quote(request.id),
                                " was given other IPUs than it named, so it may have those that"
                                " are kept for a request that waits; set 'backfill = false'"));
}

}  // namespace vipu
