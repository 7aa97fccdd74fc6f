// SPDX-License-Identifier: Apache-2.0
// The socket at which users reach ipu-agent.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace agent {

struct Listener {
  base::Fd socket;
  std::string made;  // the path of a socket that this process made; empty: systemd made it
};

// Returns the socket that systemd passes (sd_listen_fds(3)); unset if it passes none. Fails with
// kInvalid if what it passes is not one listening unix socket.
base::Result<Listener> passed_listener();

// Makes the socket PATH for root and the group "ipu", in an existing directory. Replaces a socket
// on which nobody listens. Fails with kExists if somebody does, kNotFound if there is no such
// group.
base::Result<Listener> make_listener(const std::string& path);

}  // namespace agent
