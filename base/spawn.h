// SPDX-License-Identifier: Apache-2.0
// A program that runs beside its caller, which learns of its end by SIGCHLD and waitpid(2).
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace base {

// Starts PATH (absolute) with ARGS (argv[0] included) and returns its pid. The program has
// /dev/null as its standard input, OUT as its standard output, the caller's standard error, and no
// other descriptor; its own session, "/" as its working directory, an empty environment, and no
// blocked signal. It gets SIGTERM when the caller ends. Returns kNotFound or kDenied if PATH cannot
// be executed; if that fails later, the program ends with status 127. The caller has one thread.
Result<pid_t> spawn(const std::string& path, const std::vector<std::string>& args, int out);

}  // namespace base
