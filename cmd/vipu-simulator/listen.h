// SPDX-License-Identifier: Apache-2.0
// Listening sockets: TCP, and unix sockets for their owner alone.
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace simulator {

// Returns a socket that listens on ADDRESS, an IPv4 address, and PORT; 0: any free port.
base::Result<base::Fd> listen_tcp(const std::string& address, uint16_t port);
base::Result<uint16_t> port_of(const base::Fd& socket);

// Returns a socket that listens at PATH, for its owner alone (mode 0600). Replaces the socket of a
// program that has ended. Returns kBusy if another program answers there, and kExists if PATH is
// something else.
base::Result<base::Fd> listen_unix(const std::string& path);
base::Result<base::Fd> connect_unix(const std::string& path);

}  // namespace simulator
