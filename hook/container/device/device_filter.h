// SPDX-License-Identifier: Apache-2.0
// Device programs of a cgroup of version 2: what decides there which devices a container may use.
#pragma once

#include <vector>

#include "base/result.h"
#include "hook/container/oci/spec.h"

namespace hook::device {

// Makes each device program that is attached to the cgroup directory CGROUP allow reading and
// writing DEVICES before it decides as it did. All programs of a cgroup must allow a device, so
// another one beside them could not. A cgroup without a program is left as it is: those
// above it decide alone. Each program is replaced at once; after an error those that were not
// reached are as they were. Needs CAP_SYS_ADMIN.
base::Status allow_by_programs(int cgroup, const std::vector<oci::DeviceNode>& devices);

}  // namespace hook::device
