// SPDX-License-Identifier: Apache-2.0
// Requests to the RDMA netlink interface of the kernel, and parsers for its replies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "netns/internal/nl.h"
#include "netns/rdma.h"

namespace netns::internal {

nl::Message rdma_mode_request();
// Returns the mode, or nothing if an older kernel's REPLY has none.
std::optional<RdmaMode> parse_rdma_mode(const nlmsghdr& reply);

struct RdmaDeviceName {
  uint32_t index = 0;
  std::string name;
  bool operator==(const RdmaDeviceName&) const = default;
};
nl::Message rdma_devices_request();
std::optional<RdmaDeviceName> parse_rdma_device(const nlmsghdr& reply);

nl::Message rdma_ports_request(const RdmaDeviceName& device);
std::optional<RdmaPort> parse_rdma_port(const nlmsghdr& reply);

nl::Message rdma_move_request(const RdmaDeviceName& device, int namespace_fd);

}  // namespace netns::internal
