// SPDX-License-Identifier: Apache-2.0
// What a plan is made of, as it is found on this host.
#pragma once

#include "base/result.h"
#include "hook/config/config.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/look.h"
#include "hook/plan/plan.h"
#include "vipu/types.h"

namespace hook {

// For LEASE, which is ALLOCATED, and what was GRANTed to it; HOST is what its start found.
base::Result<PlanInput> plan_input(const Env& env, const Config& config, const HostLook& host,
                                   const vipu::Grant& grant, const Lease& lease);

}  // namespace hook
