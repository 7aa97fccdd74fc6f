// SPDX-License-Identifier: Apache-2.0
// Pools as text.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cmd/ipuctl/print.h"
#include "hook/config/config.h"
#include "hook/ledger/drain.h"
#include "hook/lifecycle/partitions/warm.h"
#include "vipu/types.h"

namespace ipuctl {

// Numbers of IPUs in a pool.
struct Usage {
  uint32_t total = 0;
  uint32_t used = 0;
  uint32_t tainted = 0;
  uint32_t largest_free = 0;  // block size
};

// Returns those of the pool as its controller shows it.
[[nodiscard]] Usage usage_of(const vipu::Survey& survey);

struct PoolView {
  hook::config::PoolConfig config;
  std::optional<Usage> usage;                         // unset: the pool cannot be reached now
  std::map<uint32_t, uint32_t> warm = {};             // size -> number of ready partitions
  std::optional<hook::ledger::Drained> drained = {};  // by `pool drain`
};
[[nodiscard]] std::string pools_text(const std::vector<PoolView>& pools, Output output);

struct RefilledPool {
  std::string pool;
  hook::lifecycle::partitions::Refilled refilled;
};
[[nodiscard]] std::string refilled_text(const std::vector<RefilledPool>& pools, Output output);

}  // namespace ipuctl
