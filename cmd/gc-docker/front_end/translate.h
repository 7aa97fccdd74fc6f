// SPDX-License-Identifier: Apache-2.0
// Translation of a gc-docker command line to docker's.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/gc-docker/front_end/arguments.h"
#include "cmd/gc-docker/front_end/caller.h"

namespace front {

struct Translation {
  std::vector<std::string> command;  // "docker", "run", ...
  std::vector<std::string> notes;    // for the user, a line each
};

// Returns the command for CALLER's ARGUMENTS: an isolated container with a lease or, with
// --host-network, what Graphcore's tool would start. Pure.
base::Result<Translation> translate(const Caller& caller, const FrontEndArguments& arguments);

// Returns COMMAND quoted for sh, on one line if no word has a newline.
[[nodiscard]] std::string shell_line(const std::vector<std::string>& command);

}  // namespace front
