// SPDX-License-Identifier: Apache-2.0
// How dockerd will be started: the service of a host on which it does not run now.
#pragma once

#include <string>
#include <vector>

namespace hook::engines {

// The words of the last ExecStart= in UNITS, the texts of a systemd unit and of its drop-ins in
// their order, as systemd.service(5) has them. $NAME and ${NAME} are replaced by what ENVIRONMENTS,
// texts of "NAME=value" lines, and Environment= say. With no ExecStart=: "dockerd" and DOCKER_OPTS,
// as Debian's init script has it.
[[nodiscard]] std::vector<std::string> service_args(const std::vector<std::string>& units,
                                                    const std::vector<std::string>& environments);

// The same of the unit docker.service below ROOT, "" for this host.
[[nodiscard]] std::vector<std::string> read_dockerd_args(const std::string& root);

}  // namespace hook::engines
