// SPDX-License-Identifier: Apache-2.0
// The links by which systemd finds a device that a container may use: /dev/char/MAJOR:MINOR.
#pragma once

#include <string>
#include <vector>

#include "cmd/ipuctl/doctor/doctor.h"

namespace ipuctl::doctor {

// Whether DEV ("/dev") has the links of NODES, each once. A link counts if it leads to a device of
// that number.
[[nodiscard]] std::vector<DeviceLink> look_at_device_links(
    const std::string& dev, const std::vector<hook::oci::DeviceNode>& nodes);

// A warning for each link that is missing, with the command that makes it; if none is, one finding
// that says so. Nothing without devices.
void examine_device_links(const std::vector<DeviceLink>& links, std::vector<Finding>& findings);

}  // namespace ipuctl::doctor
