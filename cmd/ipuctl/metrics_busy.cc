// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/metrics_busy.h"

#include <map>
#include <utility>

#include "base/names.h"
#include "hook/ledger/usage.h"

namespace ipuctl {

using namespace base::names;
using metrics::Type;

Status add_busy(hook::ledger::Ledger& ledger, const hook::config::Config& config, int64_t today,
                metrics::Exposition& to) {
  if (!config.monitor) return {};
  struct Sum {
    int64_t measured = 0;  // ms
    int64_t busy = 0;
  };
  std::map<std::pair<std::string, std::string>, Sum> sums;
  for (const hook::ledger::UsageRow& row : TRY(ledger.usage().between(today, today + 1))) {
    Sum& sum = sums[{row.pool, row.tenant}];
    sum.measured += row.measured;
    sum.busy += row.busy;
  }
  const auto add = [&](const auto& key, int64_t ms) {
    to.sample({{"pool", key.first}, {"tenant", key.second}}, static_cast<double>(ms) / 1000.0);
  };
  to.family("ipu_measured_ipu_seconds_total", Type::kCounter,
            "Of what leases held since midnight (UTC): for which a monitor said how busy it was.");
  for (const auto& [key, sum] : sums) add(key, sum.measured);
  to.family("ipu_busy_ipu_seconds_total", Type::kCounter,
            "Of that: in which the IPUs were busy, in seconds of one IPU.");
  for (const auto& [key, sum] : sums) add(key, sum.busy);
  return {};
}

}  // namespace ipuctl
