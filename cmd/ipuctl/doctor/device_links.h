// SPDX-License-Identifier: Apache-2.0
// The links with which systemd finds a container's devices: /dev/char/MAJOR:MINOR.
#pragma once

#include <string>
#include <vector>

#include "cmd/ipuctl/doctor/doctor.h"

namespace ipuctl::doctor {

// Returns whether DEV ("/dev") has the links of NODES, each once. A link counts if it leads to a
// device of this number.
[[nodiscard]] std::vector<DeviceLink> look_at_device_links(
    const std::string& dev, const std::vector<hook::oci::DeviceNode>& nodes);

// Adds a warning for each missing link, with the command that makes it, or one finding that none is
// missing. Adds nothing if there are no devices.
void examine_device_links(const std::vector<DeviceLink>& links, std::vector<Finding>& findings);

}  // namespace ipuctl::doctor
