// SPDX-License-Identifier: Apache-2.0
// What Graphcore's gc-docker gives a container: the host's network, and all its devices.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/gc-docker/front_end/arguments.h"
#include "cmd/gc-docker/front_end/caller.h"

namespace front {

// Returns the docker options that Graphcore's tool would put before DOCKER, whose variables are
// EXPLICIT_ONES, except options that are already given. Returns kNotFound, with what to do, if
// nothing selects IPUs.
base::Result<std::vector<std::string>> host_network_options(const Caller& caller,
                                                            const FrontEndArguments& arguments,
                                                            const DockerArguments& docker,
                                                            const Variables& explicit_ones);

}  // namespace front
