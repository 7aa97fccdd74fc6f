// SPDX-License-Identifier: Apache-2.0
// Programs of an engine that are asked something.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace hook::engines {

// The absolute path of a program of the host, in the directories that root's PATH has and in that
// of snaps; kNotFound if it is in none.
base::Result<std::string> find_program(std::string_view name);

struct Answer {
  int exit_status = 0;
  std::string out;
  std::string errors;  // on one line
};

// What PROGRAM says to ARGS. Of the environment it gets where a user's files are, and for root
// nothing: neither DOCKER_HOST nor a context of docker's.
base::Result<Answer> ask(const std::string& program, const std::vector<std::string>& args,
                         const base::Deadline& deadline);

}  // namespace hook::engines
