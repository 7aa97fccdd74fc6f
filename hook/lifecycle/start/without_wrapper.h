// SPDX-License-Identifier: Apache-2.0
// Containers that came past the wrapper: the hook alone does what a hook can. It cannot change the
// environment or the capabilities of a container, nor make rules that outlast the engine's.
#pragma once

#include <functional>

#include "base/clock.h"
#include "base/result.h"
#include "hook/container/oci/state.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::start {

// How long the engine may wait for start_by_hook(): podman and CRI-O give a runtime 240 s.
inline constexpr std::chrono::seconds kHookOnlyTime{220};

// Whether STATE, of createRuntime, asks for IPUs, by its annotations alone: nothing else of a
// container is in there.
[[nodiscard]] bool asks_hook(const oci::ContainerState& state);

// Grants what STATE asks for, and gives it to the container: lease, partition, device nodes and
// rules, mounts, the limit of locked memory, network; the lease is RUNNING. Nothing if the wrapper
// has made a lease for this container. After any failure nothing is held. kDenied or kInvalid if
// the container has what only the wrapper could take away (capabilities, variables that contradict
// its lease), or asks to wait longer than kHookOnlyTime allows.
base::Status start_by_hook(Env& env, const base::Result<config::Config>& config,
                           const oci::ContainerState& state);

// Releases the leases of the container that STATE, of poststop, names, if they have ended, or end
// within 5 s. TAKEN as for release_by_id().
base::Status stop_by_hook(
    Env& env, const oci::ContainerState& state, const base::Deadline& deadline,
    const std::function<void()>& taken = [] {});

}  // namespace hook::lifecycle::start
