// SPDX-License-Identifier: Apache-2.0
// Shows what a container would get, without taking anything.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hook/config/config.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::start {

struct Preview {
  std::string pool;
  uint32_t ipus = 0;                      // 0: as many as the partition or the cards have
  std::string partition;                  // one that was made in advance; empty: a new one
  std::string config;                     // the edited config.json
  std::vector<std::string> ignored = {};  // see request::Request
};

// Returns the edit of TEXT, the config.json in the directory BUNDLE, for a container that starts
// now; absent if nothing asks for IPUs. Invents what only a grant determines: the lease is 32
// zeros, each usable rail has the first address of its range, and a request for a number of cards
// gets the first ones. Fails as the start itself does before it takes anything.
base::Result<std::optional<Preview>> preview(Env& env, const base::Result<config::Config>& config,
                                             const std::string& bundle, const std::string& text);

}  // namespace hook::lifecycle::start
