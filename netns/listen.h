// SPDX-License-Identifier: Apache-2.0
// A TCP socket that listens in another network namespace.
#pragma once

#include <cstdint>

#include "base/fd.h"
#include "base/result.h"
#include "netns/address.h"
#include "netns/namespace.h"

namespace netns {

// Returns a non-blocking socket that listens on ADDRESS (IPv4) and PORT in the namespace IN, also
// if no interface there has the address yet. Fails with EADDRINUSE if another socket listens there.
// The socket keeps the namespace alive.
base::Result<base::Fd> listen_in(const Namespace& in, const Address& address, uint16_t port);

}  // namespace netns
