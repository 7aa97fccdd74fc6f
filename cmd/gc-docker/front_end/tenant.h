// SPDX-License-Identifier: Apache-2.0
// The tenant of the calling user. dockerd makes the container as root, so the runtime does not see
// who asked for it.
#pragma once

#include <sys/types.h>

#include <optional>

#include "cmd/gc-docker/front_end/ask.h"
#include "cmd/gc-docker/front_end/caller.h"
#include "cmd/gc-docker/front_end/docker_arguments.h"

namespace front {

// Returns the user who calls: UID, the real one of this process. For root, it is the user who has
// called sudo, by SUDO_UID of ENVIRONMENT, or else the one who LOGGED_IN.
[[nodiscard]] uid_t calling_user(uid_t uid, const Variables& environment,
                                 std::optional<uid_t> logged_in);

// Adds CALLER's tenant to what is ASKED, unless DOCKER or its EXPLICIT_ONES name one. If the policy
// refuses this name, adds a note instead. podman needs no name: the runtime sees who logged in.
void ask_tenant(const Caller& caller, const DockerArguments& docker, const Variables& explicit_ones,
                Asked& asked);

}  // namespace front
