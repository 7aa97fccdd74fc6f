// SPDX-License-Identifier: Apache-2.0
// The future command line of dockerd, from the service of a host where it does not run now.
#pragma once

#include <string>
#include <vector>

namespace hook::engines {

// Returns the words of the last ExecStart= in UNITS, the texts of a systemd unit and of its
// drop-ins in order, by the rules of systemd.service(5). ENVIRONMENTS, texts of "NAME=value" lines,
// and Environment= supply $NAME and ${NAME}. Without an ExecStart=, returns "dockerd" and
// DOCKER_OPTS, as Debian's init script does.
[[nodiscard]] std::vector<std::string> service_args(const std::vector<std::string>& units,
                                                    const std::vector<std::string>& environments);

// Returns the same for the unit docker.service below ROOT, "" for this host.
[[nodiscard]] std::vector<std::string> read_dockerd_args(const std::string& root);

}  // namespace hook::engines
