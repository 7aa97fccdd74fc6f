// SPDX-License-Identifier: Apache-2.0
// Device programs of a cgroup version 2, which decide which devices a container may use.
#pragma once

#include <vector>

#include "base/result.h"
#include "hook/container/oci/spec.h"

namespace hook::device {

// Changes each device program that is attached to the cgroup directory CGROUP so that it first
// allows reading and writing DEVICES, and then decides as before. An additional program could not
// do that, because all programs of a cgroup must allow a device. A cgroup without a program stays
// as it is: those above it decide alone. Each program is replaced in one step. After an error, the
// remaining programs are unchanged. Needs CAP_SYS_ADMIN.
base::Status allow_by_programs(int cgroup, const std::vector<oci::DeviceNode>& devices);

}  // namespace hook::device
