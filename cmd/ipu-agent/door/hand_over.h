// SPDX-License-Identifier: Apache-2.0
// From the process that reads what users send to the one that acts: a request as words, with the
// connection of the user who sent it. Each is one message on a SOCK_SEQPACKET socket.
#pragma once

#include "base/fd.h"
#include "base/result.h"
#include "cmd/ipu-agent/protocol/request.h"

namespace agent {

// Passes a request on, without waiting. Fails with kBusy if the other side has too many of them to
// do.
base::Status hand_over(int socket, const Words& words, int user);

struct HandedOver {
  Words words;
  base::Fd user;
};
// Takes one request, without waiting. Fails with kBusy if there is none, kUnavailable if the other
// side has ended, and kInvalid for a message that hand_over() does not send.
base::Result<HandedOver> take_over(int socket);

}  // namespace agent
