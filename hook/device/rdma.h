// SPDX-License-Identifier: Apache-2.0
// The RDMA device behind a network interface, and the device nodes that a container needs of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hook/oci/spec.h"

namespace hook {

struct RdmaDevice {
  std::string name;  // "mlx5_0"
  uint32_t port = 1;
  // Its uverbs node and rdma_cm; never umad or issm, which reach the fabric's management.
  std::vector<DeviceNode> nodes;
};

// The RDMA device whose port drives INTERFACE (or is driven by it, where that is a bond), read
// below SYSFS ("/sys"). Absent if there is none. Node numbers come from sysfs: majors are not
// fixed. kUnsupported if there is a device but its uverbs or rdma_cm node is missing.
base::Result<std::optional<RdmaDevice>> find_rdma_device(const std::string& sysfs,
                                                         const std::string& interface);

}  // namespace hook
