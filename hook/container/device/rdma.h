// SPDX-License-Identifier: Apache-2.0
// The RDMA device behind a network interface, and the device nodes that a container needs for it.
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
  // The device's uverbs node and rdma_cm; never umad or issm, which reach the fabric's management.
  std::vector<oci::DeviceNode> nodes;
};

// Returns the RDMA device of INTERFACE, found below SYSFS ("/sys"); nothing if there is none. Takes
// the device with a port whose first GID belongs to INTERFACE, else one with any GID that does: for
// a bond, the device of an interface below it. Node numbers come from sysfs: majors are not fixed.
// Returns kUnsupported if the device's uverbs or rdma_cm node is missing.
base::Result<std::optional<RdmaDevice>> find_rdma_device(const std::string& sysfs,
                                                         const std::string& interface);

// Returns the same for a device by name, or kNotFound.
base::Result<RdmaDevice> open_rdma_device(const std::string& sysfs, const std::string& device,
                                          uint32_t port);

// One entry of a port's GID table: an address that RoCE can use as a source.
struct Gid {
  uint32_t index = 0;
  std::array<uint8_t, 16> value{};  // an IPv6 address, or ::ffff:A.B.C.D for IPv4
  std::string type;                 // "IB/RoCE v1" or "RoCE v2"
  std::string interface;            // owner of the address, by its name in its namespace
  bool operator==(const Gid&) const = default;
};

struct GidTable {
  uint32_t size = 0;      // entries of the hardware; mlx5 has 256
  std::vector<Gid> used;  // by rising index, with gaps
};

// Returns the GID table of a port, read below SYSFS ("/sys"), with the entries of all network
// namespaces. Returns kNotFound if there is no such port.
base::Result<GidTable> read_gids(const std::string& sysfs, const std::string& device,
                                 uint32_t port);

// Returns the RoCE v2 entry of ADDRESS, if any. The kernel adds it some time after it assigns the
// address; if the table is full, it never does, and reports no error.
[[nodiscard]] std::optional<Gid> find_roce_v2_gid(const std::vector<Gid>& gids,
                                                  const netns::Address& address);

// Returns the number of entries that one more address takes: 2 if the port has an entry for each
// version of RoCE, as with mlx5, else 1. GIDS are the current entries.
[[nodiscard]] uint32_t gid_entries_per_address(const std::vector<Gid>& gids);

}  // namespace hook::device
