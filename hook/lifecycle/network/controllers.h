// SPDX-License-Identifier: Apache-2.0
// The addresses of controllers, which no container may reach. Those of a controller that is
// configured by name are known once the name was looked up: the file RUN_DIR/controllers/POOL keeps
// them for starts in other pools, for the guard and for refreshes. It has a line with HOST:PORT of
// the controller, then a line for each address.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/lifecycle/env.h"
#include "netns/address.h"

namespace hook::lifecycle::network {

// Each address with HOST:PORT of its controller.
using Controllers = std::map<netns::Address, std::string>;

// What can be known without a look-up, and an error for each file that is damaged.
struct Remembered {
  Controllers controllers;
  std::vector<base::Error> damaged;
};
Remembered remembered_controllers(const std::string& run_dir, const config::Config& config);

// Returns the addresses of the controllers of all pools of CONFIG: the one of a controller that is
// configured by address; of one by name, those that the last look-up gave since boot, if any. Fails
// with kInvalid, and says what to do, if a file is damaged: then addresses are unknown.
base::Result<Controllers> known_controllers(const std::string& run_dir,
                                            const config::Config& config);

// Makes ADDRESSES the known addresses of POOL's controller. Does nothing if it is not configured by
// name. Fails with kInvalid, and changes nothing, if one cannot be kept from containers, or if they
// are not 1 to vipu::kMaxControllerAddresses.
base::Status record_controller(const std::string& run_dir, const config::PoolConfig& pool,
                               const std::vector<std::string>& addresses);

// As known_controllers(), but looks a name up again if its file is damaged.
base::Result<Controllers> learn_controllers(Env& env, const config::Config& config,
                                            const base::Deadline& deadline);

// Looks up the controllers of all pools of CONFIG that are configured by name, and forgets those of
// pools that have none. What cannot be looked up keeps its addresses. Returns an error for each.
std::vector<base::Error> look_up_controllers(Env& env, const config::Config& config,
                                             const base::Deadline& deadline);

}  // namespace hook::lifecycle::network
