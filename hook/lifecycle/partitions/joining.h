// SPDX-License-Identifier: Apache-2.0
// What a host brings along when it joins a fleet, and what it leaves there.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::partitions {

// Shares with the fleet, if this host is in one and has not left it, the partitions that operators
// named and that this host had before it, with the containers that use them: another host could
// adopt one, and give its GCDs again. Adds to OBSTACLES those that the fleet knows as another
// host's (kExists), and what failed. Harmless twice; asks the store only about what is not shared
// yet.
void share_named(Env& env, const base::Deadline& deadline, std::vector<base::Error>& obstacles);

// The names of the partitions of a fleet that a host had.
struct LeftFleet {
  std::vector<std::string> forgotten;
  std::vector<std::string> kept;  // containers of this host have them
};
// Leaves the fleet. A partition that this host made, and that only its containers have, is this
// host's alone then, and its record in the store keeps others from it; other partitions stay with
// the fleet. Fails with kBusy, and says why, while a container of this host begins or has a
// partition of another host, or the other way around; with kDenied if this host was fenced. Nothing
// is changed then. If it is cut short later, it goes on when it is called again, and no container
// of this host begins with the fleet's IPUs meanwhile (LedgerHost::check_in()).
base::Result<LeftFleet> leave_fleet(Env& env, const base::Deadline& deadline);

// Forgets the partitions with which host TAG left, so that their names are free. Returns whether
// there was one. Fails with kBusy while the controller has one of them, and if none of POOLS is at
// that controller.
base::Result<bool> forget_left(Env& env, const std::vector<config::PoolConfig>& pools,
                               const std::string& tag, const base::Deadline& deadline);

}  // namespace hook::lifecycle::partitions
