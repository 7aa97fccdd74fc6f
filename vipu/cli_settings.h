// SPDX-License-Identifier: Apache-2.0
// The V-IPU controller that Graphcore's own command line uses, for hosts that are set up for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace vipu {

struct CliSettings {
  std::string host;      // of the form that vipu::wire::is_host_and_port accepts with PORT
  uint16_t port = 8090;  // Graphcore's default
  std::string source;    // source of HOST, for messages: "VIPU_CLI_API_HOST" or FILE
};

// Returns the settings of ENVIRONMENT ("KEY=value"; the first entry of a key counts, an empty one
// is unset) or FILE; nothing if neither has a host. The order is
// - host: VIPU_CLI_API_HOST, then `api-host` of FILE;
// - port: VIPU_CLI_API_PORT, then `api-port` of FILE if the host is from FILE, then 8090.
// FILE is not read if the environment has the host, and may be absent. Returns kInvalid, with the
// file, the line and the key, if FILE is malformed, larger than 64 KiB or repeats one of the keys.
// The user and access key (VIPU_CLI_API_USER_ID, VIPU_CLI_API_ACCESS_KEY, `api-user-id`,
// `api-access-key`) are never returned and appear in no message. They could not be sent: Graphcore
// has not published the gRPC metadata for them. A credentials file configures metadata instead.
base::Result<std::optional<CliSettings>> find_cli_settings(
    const std::vector<std::string>& environment,
    const std::string& file = "/etc/vipu/vipu-cli.hcl");

}  // namespace vipu
