// SPDX-License-Identifier: Apache-2.0
// What Graphcore's gc-docker gives to a container: the host's network, and all of its devices.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/gc-docker/front_end/arguments.h"
#include "cmd/gc-docker/front_end/caller.h"

namespace front {

// The options for docker that Graphcore's tool would put before DOCKER, whose variables are
// EXPLICIT_ONES; none of what is given there already. kNotFound, with what to do, where nothing
// says which IPUs are meant.
base::Result<std::vector<std::string>> host_network_options(const Caller& caller,
                                                            const FrontEndArguments& arguments,
                                                            const DockerArguments& docker,
                                                            const Variables& explicit_ones);

}  // namespace front
