// SPDX-License-Identifier: Apache-2.0
// Warm partitions: made in advance, so that a start does not wait for a slow controller. Never more
// than the configuration allows, and given back when others need their IPUs.
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
  std::vector<std::string> removed;    // more than are wanted, or not usable any more
  std::vector<base::Error> obstacles;  // what could not be made or removed now
};

// Brings the warm partitions of POOL to what the configuration says. Makes none while a container
// waits for IPUs of the pool. Harmless to run twice at the same time.
base::Result<Refilled> refill(Env& env, const config::PoolConfig& pool,
                              const base::Deadline& deadline);

enum class GivenBack { kSome, kNone };
// Removes warm partitions of POOL that stand in the way of a block of IPUS, if their removal makes
// room; none otherwise.
base::Result<GivenBack> give_back_warm(Env& env, const config::PoolConfig& pool, uint32_t ipus,
                                       const base::Deadline& deadline);

}  // namespace hook::lifecycle::partitions
