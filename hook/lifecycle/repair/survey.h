// SPDX-License-Identifier: Apache-2.0
// What the controllers have of ours, against what the ledger says. A partition that was made by a
// controller that its pool has no more is in no survey.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "hook/lifecycle/repair/engine_containers.h"
#include "hook/lifecycle/repair/rebuild.h"

namespace hook::lifecycle::repair {

// Of each pool all partitions of its controller; none if it did not answer in its time.
struct Survey {
  std::vector<config::PoolConfig> pools;
  std::map<std::string, std::optional<std::vector<vipu::Partition>>> partitions;  // by pool
  std::vector<std::string> notes;                                                 // who did not
};
[[nodiscard]] Survey survey_pools(Env& env, const std::vector<config::PoolConfig>& pools,
                                  const base::Deadline& deadline);

// Whether the controller SOURCE of POOL, as source_of() has it, has that partition. Unset: that is
// not known.
[[nodiscard]] std::optional<bool> has_partition(const Survey& survey, const std::string& pool,
                                                const std::string& source, const std::string& name);

// Whether NAME is one that this product gives: "c-" or "w-" and 12 hexadecimal digits.
[[nodiscard]] bool is_reserved_name(std::string_view name);

// Completes the partitions of a rebuild: those that the controllers lost are left out, those that
// running leases name come back, and those that nobody claims, also none of UNKNOWN, are noted, or
// taken for leftovers.
void judge_partitions(const Survey& survey, Unclaimed unclaimed,
                      const std::vector<EngineContainer>& unknown, Rebuilt& rebuilt);

}  // namespace hook::lifecycle::repair
