// SPDX-License-Identifier: Apache-2.0
// Looks up the name of a controller, as gRPC does: by c-ares.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace client {

// Returns the addresses of the host in ADDRESS (HOST:PORT), at most 16, with spaces between them.
// Returns kUnavailable if there are none, and kTimeout at the deadline.
base::Result<std::string> resolve(const std::string& address, const base::Deadline& deadline);

}  // namespace client
