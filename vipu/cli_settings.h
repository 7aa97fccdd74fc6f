// SPDX-License-Identifier: Apache-2.0
// Where Graphcore's own command line finds the V-IPU controller, for hosts that are set up for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace vipu {

struct CliSettings {
  std::string host;      // with PORT as vipu::wire::is_host_and_port wants it
  uint16_t port = 8090;  // Graphcore's default
  std::string source;    // where HOST is from, for messages: "VIPU_CLI_API_HOST" or FILE
};

// The settings of ENVIRONMENT ("KEY=value", the first of a key counts, an empty one is not set) or
// FILE; nothing if neither has a host. In this order:
//   host: VIPU_CLI_API_HOST, then `api-host` of FILE
//   port: VIPU_CLI_API_PORT, then `api-port` of FILE if the host is from there, then 8090
// FILE is not looked at when the environment has the host. An absent one is fine; kInvalid, with
// the file, the line and the key, if it is malformed, larger than 64 KiB or gives one of the keys
// twice. The user and access key (VIPU_CLI_API_USER_ID, VIPU_CLI_API_ACCESS_KEY, `api-user-id`,
// `api-access-key`) are for other readers: they are never returned, and in no message. Graphcore
// has not published the gRPC metadata that carries them, so that they could not be sent; metadata
// are configured with a credentials file instead.
base::Result<std::optional<CliSettings>> find_cli_settings(
    const std::vector<std::string>& environment,
    const std::string& file = "/etc/vipu/vipu-cli.hcl");

}  // namespace vipu
