// SPDX-License-Identifier: Apache-2.0
// Looks up the name of a controller by c-ares, in the places of the host's nsswitch.conf.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "vipu/wire.h"

namespace client {

// Returns all addresses of the host in ADDRESS (HOST:PORT), IPv4 first. Returns kUnavailable if
// there are none or if the addresses of one family cannot be found out, kInvalid if there are more
// than kMaxControllerAddresses, and kTimeout at the deadline.
base::Result<vipu::wire::Addresses> resolve(const std::string& address,
                                            const base::Deadline& deadline);

}  // namespace client
