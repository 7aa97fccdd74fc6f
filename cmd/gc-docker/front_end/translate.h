// SPDX-License-Identifier: Apache-2.0
// From a command line of gc-docker to one of docker.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/gc-docker/front_end/arguments.h"
#include "cmd/gc-docker/front_end/caller.h"

namespace front {

struct Translation {
  std::vector<std::string> command;  // "docker", "run", ...
  std::vector<std::string> notes;    // what the user should know, a line each
};

// The command for ARGUMENTS of this CALLER: an isolated container with a lease, or, with
// --host-network, what Graphcore's tool would start. Pure.
base::Result<Translation> translate(const Caller& caller, const FrontEndArguments& arguments);

// COMMAND as sh reads it back, on one line if no word has a newline.
[[nodiscard]] std::string shell_line(const std::vector<std::string>& command);

}  // namespace front
