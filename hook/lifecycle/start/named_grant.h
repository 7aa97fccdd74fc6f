// SPDX-License-Identifier: Apache-2.0
// The IPUs of a partition that was made before its container.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "hook/lifecycle/start/grant.h"
#include "vipu/controller.h"

namespace hook::lifecycle::start {

// Makes one attempt at the grant of LEASE's partition: in a fleet, claims its GCDs; resets it if
// others had it; waits until it is ACTIVE, and reads it back.
base::Result<vipu::Grant> named_grant(Env& env, vipu::Controller& controller,
                                      const GrantRequest& what, const ledger::Lease& lease,
                                      const base::Deadline& until);

}  // namespace hook::lifecycle::start
