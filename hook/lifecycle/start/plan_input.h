// SPDX-License-Identifier: Apache-2.0
// Collects the input of a plan from this host.
#pragma once

#include "base/result.h"
#include "hook/config/config.h"
#include "hook/container/plan/plan.h"
#include "hook/container/request/request.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/start/inspect_host.h"
#include "vipu/types.h"

namespace hook::lifecycle::start {

// Returns the input for LEASE, which is ALLOCATED. GRANT is what the controller granted to it, HOST
// what its start found.
base::Result<plan::PlanInput> plan_input(const Env& env, const config::Config& config,
                                         const HostLook& host, const vipu::Grant& grant,
                                         const ledger::Lease& lease);

// Returns how many GCDs a lease for REQUEST would have; 1 if the ledger does not know.
[[nodiscard]] uint32_t gcds_asked(Env& env, const config::PoolConfig& pool,
                                  const request::Request& request);

// Returns the edit of a lease of POOL with so many GCDS, as far as it is known before there is a
// lease.
[[nodiscard]] oci::SpecEdit edit_before(const config::PoolConfig& pool, uint32_t gcds);

// Checks, before anything is taken, that a low-level runtime can mount the files of a lease of POOL
// in the container of SPEC, whose bundle is the directory BUNDLE. Fails as
// inject::check_mount_point does.
base::Status check_mount_points(const oci::SpecView& spec, const std::string& bundle,
                                const config::PoolConfig& pool);

}  // namespace hook::lifecycle::start
