// SPDX-License-Identifier: Apache-2.0
// A Controller that reaches a V-IPU controller through ipu-vipu-client, an unprivileged program.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/process.h"
#include "vipu/controller.h"
#include "vipu/endpoint.h"

namespace vipu {

struct ClientOptions {
  std::string program;  // absolute path of ipu-vipu-client; ipu-vipu-client-plain is beside it
  Endpoint endpoint;
  std::optional<base::Credentials> credentials = {};  // user that runs it; unset: the caller
  // Whether the client may hold credentials and keys: success, or the error of each call that needs
  // them.
  base::Status may_hold_secrets = {};
};

// Makes a controller that runs the program once per call: one JSON request on its input, one JSON
// reply on its output. Each call rereads the files of the endpoint, with the rights of the caller.
// No error contains their secrets, whatever the program says. If CREDENTIALS are set, a call with
// secrets returns kDenied if that user may read the program: the kernel then lets other processes
// of the user trace it, until it has confined itself.
std::unique_ptr<Controller> make_process_controller(ClientOptions options);

}  // namespace vipu
