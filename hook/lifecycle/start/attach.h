// SPDX-License-Identifier: Apache-2.0
// The createRuntime hook: the container's namespaces exist, but its program does not run yet.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "hook/container/oci/state.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::start {

// Attaches the network of lease LEASE_ID in the namespace of the container's first process, which
// STATE names. The lease is then RUNNING, held by that process. A second call for the same process
// (prestart, then createRuntime) does nothing. After a failure the lease is released, because not
// every runtime then calls poststop.
base::Status attach_container(Env& env, const std::string& lease_id,
                              const base::Result<oci::ContainerState>& state,
                              const base::Deadline& deadline);

}  // namespace hook::lifecycle::start
