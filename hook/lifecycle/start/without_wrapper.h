// SPDX-License-Identifier: Apache-2.0
// Containers that bypassed the wrapper: the hook alone does what a hook can. It cannot change a
// container's environment or capabilities, nor make rules that outlast the engine's.
#pragma once

#include <functional>

#include "base/clock.h"
#include "base/result.h"
#include "hook/container/oci/state.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::start {

// The longest time that the engine may wait for start_by_hook(); podman and CRI-O give a runtime
// 240 s.
inline constexpr std::chrono::seconds kHookOnlyTime{220};

// Returns whether STATE, of createRuntime, asks for IPUs by its annotations: STATE has nothing else
// of the container. A CDI device asks in the hook's arguments.
[[nodiscard]] bool asks_hook(const oci::ContainerState& state);

// Grants what STATE, or a CDI device in its config.json, asks for and gives it to the container:
// lease, partition, device nodes and rules, mounts, the limit of locked memory, network. The lease
// is then RUNNING. Does nothing if the wrapper has made a lease for this container. After a
// failure, nothing is held. Fails with kDenied or kInvalid if the container has what only the
// wrapper could remove (capabilities, variables that contradict its lease) or asks to wait longer
// than kHookOnlyTime allows. IS_CDI: a CDI device asks, so fails if config.json asks for nothing.
base::Status start_by_hook(Env& env, const base::Result<config::Config>& config,
                           const oci::ContainerState& state, bool is_cdi = false);

// Releases the leases of the container that STATE, of poststop, names, if they have ended or end
// within 5 s. Calls TAKEN as release_by_id() does.
base::Status stop_by_hook(
    Env& env, const oci::ContainerState& state, const base::Deadline& deadline,
    const std::function<void()>& taken = [] {});

}  // namespace hook::lifecycle::start
