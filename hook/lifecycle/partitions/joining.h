// SPDX-License-Identifier: Apache-2.0
// What a host brings along when it joins a fleet, and what it leaves there.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::partitions {

// Shares with the fleet, if this host is in one, the partitions that operators named and that this
// host had before it, with the containers that use them: another host could adopt one, and give its
// GCDs again. Adds to OBSTACLES those that the fleet knows as another host's (kExists), and what
// failed. Harmless twice; asks the store only about what is not shared yet.
void share_named(Env& env, const base::Deadline& deadline, std::vector<base::Error>& obstacles);

// Forgets the partitions of fleets. Returns their names. Fails with kBusy, and names the
// containers, while a live lease has one.
base::Result<std::vector<std::string>> leave_fleet(Env& env);

}  // namespace hook::lifecycle::partitions
