// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/shortage_text.h"

#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "vipu/placement.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;

constexpr std::chrono::milliseconds kSurveyTime{2000};  // to find out what blocks the request

// Returns the occupancy of the pool, with the names of containers where they are known.
vipu::Occupancy held_pool(vipu::Survey survey, const std::vector<ledger::Lease>& leases,
                          const std::string& pool) {
  for (vipu::Partition& partition : survey.partitions) {
    for (const ledger::Lease& lease : leases) {
      if (lease.pool != pool || lease.partition != partition.id) continue;
      partition.id = str("container ", base::short_id(lease.container));
      break;
    }
  }
  return vipu::Occupancy::of(survey);
}

}  // namespace

Error no_capacity(Env& env, const Needed& what, const Error& cause) {
  Result<vipu::Survey> survey = env.controller(what.pool)->survey(Deadline::after(kSurveyTime));
  const Result<std::vector<ledger::Lease>> live = env.ledger.live();
  if (!survey.ok() || !live.ok() || what.ipus == 0) return cause;
  const auto holders =
      std::count_if(live.value().begin(), live.value().end(), [&](const ledger::Lease& lease) {
        return lease.pool == what.pool.name && lease.state != ledger::LeaseState::kIntent;
      });
  const vipu::Wanted wanted{what.ipus, 0};
  const vipu::Occupancy occupancy =
      held_pool(std::move(survey).take(), live.value(), what.pool.name);
  if (vipu::place(occupancy, wanted)) {
    return {Code::kBusy, str("pool \"", what.pool.name, "\" has a free block of ", wanted.size,
                             " IPUs, but its controller does not give it now: ", cause.message(),
                             "; ", what.advice)};
  }
  const vipu::Shortage shortage = vipu::why_not(occupancy, wanted);
  std::string would = env.names_others ? base::join(shortage.blockers, ", ") : "";
  if (!would.empty()) would = str("; there would be one without ", base::one_line(would, 200));
  return {Code::kBusy,
          str("pool \"", what.pool.name, "\" has no free block of ", what.ipus,
              " IPUs (largest free: ", shortage.largest_free, ", held by ", holders,
              holders == 1 ? " container)" : " containers)", would, "; ", what.advice)};
}

}  // namespace hook::lifecycle::start
