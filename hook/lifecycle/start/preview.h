// SPDX-License-Identifier: Apache-2.0
// What a container would get, without taking anything.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "hook/config/config.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::start {

struct Preview {
  std::string pool;
  uint32_t ipus = 0;      // 0: as many as the partition, or the cards, have
  std::string partition;  // made ahead; empty: a new one
  std::string config;     // config.json as it would be
};

// The edit of the config.json TEXT for a container that starts now. What only a grant can tell is
// made up: the lease is 32 zeros, each usable rail is there with the first address of its range,
// and of cards that are asked for by their count the first ones. Absent if nothing asks for IPUs;
// errors as those of the start itself, as far as they come before anything is taken.
base::Result<std::optional<Preview>> preview(Env& env, const base::Result<config::Config>& config,
                                             const std::string& text);

}  // namespace hook::lifecycle::start
