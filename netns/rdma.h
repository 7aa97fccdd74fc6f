// SPDX-License-Identifier: Apache-2.0
// RDMA devices and network namespaces, through the kernel's RDMA netlink interface
// (linux/rdma_netlink.h, which rdma(8) uses).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "netns/namespace.h"

namespace netns {

enum class RdmaMode {
  kShared,     // every namespace may use every device
  kExclusive,  // a device belongs to one namespace
};

// Returns the mode, or nothing if this kernel has no RDMA (its module is not loaded).
base::Result<std::optional<RdmaMode>> rdma_mode(const Namespace& in);

// A port of an RDMA device and the network interface that it drives, as IN sees them.
struct RdmaPort {
  std::string device;  // "mlx5_0"
  uint32_t port = 1;
  std::string interface;  // empty: none, or in another namespace
};
// Returns no ports if this kernel has no RDMA.
base::Result<std::vector<RdmaPort>> rdma_ports(const Namespace& in);

// Moves DEVICE to another namespace, in exclusive mode only. Returns kNotFound if FROM has no such
// device.
base::Status move_rdma_device(const Namespace& from, const std::string& device,
                              const Namespace& to);

}  // namespace netns
