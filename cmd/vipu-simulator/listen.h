// SPDX-License-Identifier: Apache-2.0
// Sockets to listen on: TCP, and unix sockets for their owner alone.
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace simulator {

// A listening socket at ADDRESS, an IPv4 address, and PORT; 0: any free one.
base::Result<base::Fd> listen_tcp(const std::string& address, uint16_t port);
base::Result<uint16_t> port_of(const base::Fd& socket);

// A listening socket at PATH, for its owner alone (mode 0600). The socket of a program that has
// ended is replaced; kBusy if one answers there, kExists if PATH is something else.
base::Result<base::Fd> listen_unix(const std::string& path);
base::Result<base::Fd> connect_unix(const std::string& path);

}  // namespace simulator
