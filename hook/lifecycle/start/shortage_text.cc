// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/shortage_text.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/names.h"
#include "base/text.h"
#include "vipu/made_name.h"
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

// A pool as it is now.
struct PoolNow {
  vipu::Occupancy occupancy;
  int64_t holders;  // containers of this host
  int64_t others;   // and of other hosts, as far as the names of partitions say so
};

// A container of another host is known by the name of its partition, with and without a fleet.
int64_t count_of_others(const vipu::Survey& survey, const std::string& host) {
  return std::count_if(survey.partitions.begin(), survey.partitions.end(),
                       [&](const vipu::Partition& one) {
                         const std::optional<vipu::MadeName> made = vipu::parse_made_name(one.id);
                         return made && made->what == vipu::MadeFor::kLease &&
                                !made->host.empty() && made->host != host;
                       });
}

std::optional<PoolNow> look_at(Env& env, const config::PoolConfig& pool) {
  Result<vipu::Survey> survey = env.controller(pool)->survey(Deadline::after(kSurveyTime));
  const Result<std::vector<ledger::Lease>> live = env.ledger.live();
  if (!survey.ok() || !live.ok()) return std::nullopt;
  const auto holders =
      std::count_if(live.value().begin(), live.value().end(), [&](const ledger::Lease& lease) {
        return lease.pool == pool.name && lease.state != ledger::LeaseState::kIntent;
      });
  const int64_t others = count_of_others(survey.value(), env.ledger.host().tag());
  return PoolNow{held_pool(std::move(survey).take(), live.value(), pool.name), holders, others};
}

// Returns "largest free: 4, held by 2 containers".
std::string held_text(const vipu::Shortage& shortage, const PoolNow& pool) {
  return str("largest free: ", shortage.largest_free, ", held by ", pool.holders,
             pool.holders == 1 ? " container" : " containers",
             pool.others == 0 ? "" : str(" here and ", pool.others, " of other hosts"));
}

std::string without_text(const Env& env, const vipu::Shortage& shortage) {
  const size_t count = shortage.blockers.size();
  if (count == 0) return "";
  if (!env.names_others) return str(" without ", count, count == 1 ? " partition" : " partitions");
  return str(" without ", base::one_line(base::join(shortage.blockers, ", "), 200));
}

}  // namespace

Error no_capacity(Env& env, const Needed& what, const Error& cause) {
  const std::optional<PoolNow> pool = what.ipus == 0 ? std::nullopt : look_at(env, what.pool);
  if (!pool) return cause;
  const vipu::Wanted wanted{what.ipus, 0};
  if (!what.within.empty()) {
    return {Code::kBusy,
            str(what.within, " of pool \"", what.pool.name, "\", which has no free block of ",
                what.ipus, " IPUs now: ", cause.message(), "; ", what.advice)};
  }
  if (vipu::place(pool->occupancy, wanted)) {
    return {Code::kBusy, str("pool \"", what.pool.name, "\" has a free block of ", wanted.size,
                             " IPUs, but its controller does not give it now: ", cause.message(),
                             "; ", what.advice)};
  }
  const vipu::Shortage shortage = vipu::why_not(pool->occupancy, wanted);
  const std::string without = without_text(env, shortage);
  return {Code::kBusy,
          str("pool \"", what.pool.name, "\" has no free block of ", what.ipus, " IPUs (",
              held_text(shortage, *pool), ")", without.empty() ? "" : "; there would be one",
              without, "; ", what.advice)};
}

std::string what_is_missing(Env& env, const config::PoolConfig& pool, uint32_t ipus) {
  const std::optional<PoolNow> now = look_at(env, pool);
  const vipu::Wanted wanted{ipus, 0};
  if (!now || vipu::place(now->occupancy, wanted)) return "";
  const vipu::Shortage shortage = vipu::why_not(now->occupancy, wanted);
  const std::string without = without_text(env, shortage);
  return str(held_text(shortage, *now), without.empty() ? "" : "; there would be a block", without);
}

}  // namespace hook::lifecycle::start
