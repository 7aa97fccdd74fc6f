// SPDX-License-Identifier: Apache-2.0
// The RDMA device behind a network interface, and the device nodes that a container needs of it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hook/container/oci/spec.h"
#include "netns/address.h"

namespace hook::device {

struct RdmaDevice {
  std::string name;  // "mlx5_0"
  uint32_t port = 1;
  // Its uverbs node and rdma_cm; never umad or issm, which reach the fabric's management.
  std::vector<oci::DeviceNode> nodes;
};

// The RDMA device whose port drives INTERFACE (or is driven by it, where that is a bond), read
// below SYSFS ("/sys"). Absent if there is none. Node numbers come from sysfs: majors are not
// fixed. kUnsupported if there is a device but its uverbs or rdma_cm node is missing.
base::Result<std::optional<RdmaDevice>> find_rdma_device(const std::string& sysfs,
                                                         const std::string& interface);

// The same for a device by its name: kNotFound if there is none.
base::Result<RdmaDevice> open_rdma_device(const std::string& sysfs, const std::string& device,
                                          uint32_t port);

// One entry of a port's GID table: an address that RoCE can be spoken from.
struct Gid {
  uint32_t index = 0;
  std::array<uint8_t, 16> value{};  // an IPv6 address; of an IPv4 one ::ffff:A.B.C.D
  std::string type;                 // "IB/RoCE v1" or "RoCE v2"
  std::string interface;            // whose address it is, by its name in whatever namespace
  bool operator==(const Gid&) const = default;
};

struct GidTable {
  uint32_t size = 0;      // entries that the hardware has; mlx5 has 256
  std::vector<Gid> used;  // by rising index, which has gaps
};

// The GID table of a port, read below SYSFS ("/sys"), which shows the entries of all network
// namespaces. kNotFound if there is no such port.
base::Result<GidTable> read_gids(const std::string& sysfs, const std::string& device,
                                 uint32_t port);

// The RoCE v2 entry of ADDRESS. The kernel makes it some time after the address was assigned, or,
// when the table is full, never and without an error.
[[nodiscard]] std::optional<Gid> find_roce_v2_gid(const std::vector<Gid>& gids,
                                                  const netns::Address& address);

// How many entries one more address takes: 2 where the port has an entry for each version of RoCE,
// as with mlx5, else 1. GIDS are its entries now.
[[nodiscard]] uint32_t gid_entries_per_address(const std::vector<Gid>& gids);

}  // namespace hook::device
