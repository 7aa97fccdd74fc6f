// SPDX-License-Identifier: Apache-2.0
// Warm partitions are made in advance, so that a start does not wait for a slow controller. There
// are never more than the configuration allows, and they are released when others need their IPUs.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/config/config.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::partitions {

struct Refilled {
  std::vector<std::string> made;       // names of partitions
  std::vector<std::string> removed;    // surplus ones, and those that are not usable any more
  std::vector<base::Error> obstacles;  // why others could not be made or removed now
};

// Makes or removes warm partitions of POOL until there are as many as the configuration says; in a
// fleet, as all hosts together are to have, and of what another host made only those that are not
// usable. Makes none while a container waits for IPUs of the pool, on this host or on another one
// of its fleet. May safely run twice at the same time.
base::Result<Refilled> refill(Env& env, const config::PoolConfig& pool,
                              const base::Deadline& deadline);

enum class GivenBack { kSome, kNone };
// Removes warm partitions of POOL, in a fleet those of all hosts, to make room for a block of IPUS
// in ALLOCATION, empty: in any. Removes none if that would not make enough room, and none of
// another allocation.
base::Result<GivenBack> give_back_warm(Env& env, const config::PoolConfig& pool,
                                       const std::string& allocation, uint32_t ipus,
                                       const base::Deadline& deadline);

// Does so for the requests that are first in a fleet's queues for POOLS, as long as this host keeps
// something warm for itself alone, from before it was in the fleet: the host of such a request
// cannot remove that. Without a fleet, or such partitions, it asks nobody.
base::Status give_back_to_fleet(Env& env, const std::vector<config::PoolConfig>& pools,
                                const base::Deadline& deadline);

}  // namespace hook::lifecycle::partitions
