// SPDX-License-Identifier: Apache-2.0
// Looks up the name of a controller, as gRPC does: by c-ares.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "vipu/wire.h"

namespace client {

// Returns all addresses of the host in ADDRESS (HOST:PORT). Returns kUnavailable if there are none,
// kInvalid if there are more than kMaxControllerAddresses, and kTimeout at the deadline.
base::Result<vipu::wire::Addresses> resolve(const std::string& address,
                                            const base::Deadline& deadline);

}  // namespace client
