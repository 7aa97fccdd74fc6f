// SPDX-License-Identifier: Apache-2.0
// What a plan is made of, as it is found on this host.
#pragma once

#include "base/result.h"
#include "hook/config/config.h"
#include "hook/container/plan/plan.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/start/inspect_host.h"
#include "vipu/types.h"

namespace hook::lifecycle::start {

// For LEASE, which is ALLOCATED, and what was GRANTed to it; HOST is what its start found.
base::Result<plan::PlanInput> plan_input(const Env& env, const config::Config& config,
                                         const HostLook& host, const vipu::Grant& grant,
                                         const ledger::Lease& lease);

}  // namespace hook::lifecycle::start
