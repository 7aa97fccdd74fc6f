// SPDX-License-Identifier: Apache-2.0
// The device cgroup of a container that runs already.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "hook/oci/spec.h"

namespace hook {

// Lets the cgroup of process PID read and write DEVICES, in cgroups of version 1 (devices.allow)
// and 2 (device programs), with ROOT as /sys/fs/cgroup. A cgroup that the process shares with this
// one is never touched: nothing confines the container then. Rules that are made so are lost when
// the engine or systemd writes them again.
base::Status allow_devices(pid_t pid, const std::vector<DeviceNode>& devices,
                           const std::string& root);

}  // namespace hook
