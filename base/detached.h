// SPDX-License-Identifier: Apache-2.0
// A program that goes on without its caller.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace base {

// Starts PATH (absolute) with ARGS (argv[0] included) as a process that this one neither waits for
// nor ends: not its child, in a session of its own, with "/" as its working directory, /dev/null as
// its three standard streams, no other descriptor, no blocked signal and an empty environment.
// kNotFound or kDenied if PATH cannot be executed. What becomes of the program is not seen.
Status start_detached(const std::string& path, const std::vector<std::string>& args);

// Runs WORK in a child of this process, cut off as above, and returns as soon as WORK has called
// its argument or has returned kDone. An error if neither happened before DEADLINE or the child
// ended first; WORK may go on then. For a process that ends soon, which leaves the child to be
// reaped by others; that has one thread, and nothing open that two must not use, such as a
// database.
enum class Work { kDone, kFailed };
Status go_on_detached(const std::function<Work(const std::function<void()>& started)>& work,
                      const Deadline& deadline);

}  // namespace base
