// SPDX-License-Identifier: Apache-2.0
// Compares what the controllers have of ours with what the ledger says. No survey covers a
// partition of a controller that its pool no longer has.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "hook/lifecycle/repair/engine_containers.h"
#include "hook/lifecycle/repair/rebuild.h"

namespace hook::lifecycle::repair {

// All partitions of each pool's controller; unset if it did not answer in time.
struct Survey {
  std::vector<config::PoolConfig> pools;
  std::map<std::string, std::optional<std::vector<vipu::Partition>>> partitions;  // by pool
  std::vector<std::string> notes;  // controllers that did not answer
  std::string host_tag = {};       // of this host
};
// What a note says of a partition whose name does not say whose it is.
inline constexpr std::string_view kUntagged =
    " has a name of a release before 0.1 and is not in this host's ledger; if no other host uses"
    " it, remove it with Graphcore's 'vipu-admin remove partition'";

[[nodiscard]] Survey survey_pools(Env& env, const std::vector<config::PoolConfig>& pools,
                                  const base::Deadline& deadline);

// Returns whether the controller SOURCE of POOL, named as by source_of(), has that partition; unset
// if this is unknown.
[[nodiscard]] std::optional<bool> has_partition(const Survey& survey, const std::string& pool,
                                                const std::string& source, const std::string& name);

// Completes the partitions of a rebuild. Omits those that the controllers lost, and restores those
// that running leases name. Notes those of this host that neither a lease nor a container in
// UNKNOWN claims, or, by UNCLAIMED, makes them leftovers. Notes those that do not say whose they
// are. Those of other hosts are none of its business.
void judge_partitions(const Survey& survey, Unclaimed unclaimed,
                      const std::vector<EngineContainer>& unknown, Rebuilt& rebuilt);

}  // namespace hook::lifecycle::repair
