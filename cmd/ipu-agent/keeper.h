// SPDX-License-Identifier: Apache-2.0
// The keeper: the process of ipu-agent that is root's. It has ipuctl do what users asked for, and
// keeps time.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace agent {

// How many requests are carried out at a time. Each is a process of root.
struct KeeperLimits {
  size_t requests = 64;
  size_t of_user = 8;
};

// Carries out the requests that come on DOOR, from users who connected to the socket PATH, until
// SIGTERM or SIGINT. Returns an error if the process at the other end of DOOR ends first. The
// caller has blocked SIGTERM, SIGINT and SIGCHLD.
base::Status keep(int door, const std::string& path, const KeeperLimits& limits = {});

}  // namespace agent
