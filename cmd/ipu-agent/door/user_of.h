// SPDX-License-Identifier: Apache-2.0
// The user at the other end of a connection, by the kernel.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace agent {

// Returns the path of a unix socket that is bound to one.
base::Result<std::string> path_of(int socket);

// Returns the effective user that the process at the other end had when it connected to PATH.
// Fails with kDenied unless SOCKET is a connection that was accepted there: the kernel names root
// at the other end of a listening socket, and of a connection to a service of root.
base::Result<uid_t> user_of(int socket, const std::string& path);

}  // namespace agent
