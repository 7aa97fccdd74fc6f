// SPDX-License-Identifier: Apache-2.0
// The door: the process of ipu-agent that reads what users send. It has a user of its own and no
// capability, and passes on only requests that it has understood.
#pragma once

#include <chrono>
#include <cstddef>

#include "base/result.h"

namespace agent {

// What users can make the door keep. A user who has too many connections, or is too slow, loses
// the connection and nobody else's.
struct DoorLimits {
  size_t connections = 128;
  size_t of_user = 16;
  std::chrono::milliseconds time{5000};  // for a whole request
};

// Serves the users who connect to LISTENER, and passes on their requests to KEEPER, until the
// other end of that is closed. Returns only then, or with an error.
base::Status serve_door(int listener, int keeper, const DoorLimits& limits = {});

}  // namespace agent
