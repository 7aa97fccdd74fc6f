// SPDX-License-Identifier: Apache-2.0
// A Controller that asks a V-IPU controller through ipu-vipu-client, an unprivileged program.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/process.h"
#include "vipu/controller.h"
#include "vipu/endpoint.h"

namespace vipu {

struct ClientOptions {
  std::string program;  // absolute path of ipu-vipu-client
  Endpoint endpoint;
  std::optional<base::Credentials> credentials = {};  // whom it runs as; unset: the caller
};

// Each call runs the program once: one JSON request on its input, one JSON reply on its output. The
// files of the endpoint are read anew for each, with the rights of the caller. No error has a
// secret of theirs in it, whatever the program says.
std::unique_ptr<Controller> make_process_controller(ClientOptions options);

}  // namespace vipu
