// SPDX-License-Identifier: Apache-2.0
// A Controller that asks a V-IPU controller through ipu-vipu-client, an unprivileged program.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/process.h"
#include "vipu/controller.h"

namespace vipu {

struct ClientOptions {
  std::string program;     // absolute path of ipu-vipu-client
  std::string controller;  // HOST:PORT of the V-IPU controller; Graphcore's default port is 8090
  std::optional<base::Credentials> credentials;  // whom the client runs as; unset: the caller
};

// Each call runs the program once: one JSON request on its input, one JSON reply on its output.
std::unique_ptr<Controller> make_process_controller(ClientOptions options);

}  // namespace vipu
