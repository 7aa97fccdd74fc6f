// SPDX-License-Identifier: Apache-2.0
// The createRuntime hook: the container's namespaces exist, its program does not run yet.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "hook/container/oci/state.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::start {

// Attaches the network of lease LEASE_ID in the namespace of the container's first process, which
// STATE names, and makes the lease RUNNING with that process's life. Done twice for
// the same process (as prestart and as createRuntime) it does nothing the second time. After any
// failure the lease is released: not every runtime calls poststop then.
base::Status attach_container(Env& env, const std::string& lease_id,
                              const base::Result<oci::ContainerState>& state,
                              const base::Deadline& deadline);

}  // namespace hook::lifecycle::start
