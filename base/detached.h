// SPDX-License-Identifier: Apache-2.0
// Programs that outlive their caller.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace base {

// Starts PATH (absolute) with ARGS (argv[0] included) as a detached process, which the caller
// neither waits for nor ends. The process is not a child of the caller. It has its own session, "/"
// as its working directory, /dev/null as its three standard streams, no other descriptor, no
// blocked signal, and ENVIRONMENT ("KEY=value") alone. Returns kNotFound or kDenied if PATH cannot
// be executed. The program's result is not reported.
Status start_detached(const std::string& path, const std::vector<std::string>& args,
                      const std::vector<std::string>& environment = {});

// Does the same for a caller that ends at once: the process is its child until then. So there is no
// process between the two for which the caller would have to wait.
Status leave_to(const std::string& path, const std::vector<std::string>& args,
                const std::vector<std::string>& environment = {});

// Runs WORK in a child of this process, detached as above. Returns as soon as WORK calls its
// argument or returns kDone. Returns an error if neither happens before DEADLINE or the child ends
// first; WORK may then still be running. The caller must end soon, because it leaves the child to
// be reaped by another process. It must have one thread, and nothing open that two processes must
// not share, such as a database.
enum class Work { kDone, kFailed };
Status go_on_detached(const std::function<Work(const std::function<void()>& started)>& work,
                      const Deadline& deadline);

}  // namespace base
