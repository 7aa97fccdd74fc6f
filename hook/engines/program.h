// SPDX-License-Identifier: Apache-2.0
// Queries to an engine's programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace hook::engines {

// Returns the absolute path of a host program, from the directories of root's PATH and that of
// snaps, or kNotFound.
base::Result<std::string> find_program(std::string_view name);

struct Answer {
  int exit_status = 0;
  std::string out;
  std::string errors;  // as one line
};

// Runs PROGRAM with ARGS and returns its answer. The environment locates only a user's files; for
// root it is empty, without DOCKER_HOST or a docker context.
base::Result<Answer> ask(const std::string& program, const std::vector<std::string>& args,
                         const base::Deadline& deadline);

}  // namespace hook::engines
