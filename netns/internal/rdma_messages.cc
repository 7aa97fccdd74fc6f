// SPDX-License-Identifier: Apache-2.0
#include "netns/internal/rdma_messages.h"

#include <rdma/rdma_netlink.h>

#include "base/names.h"
#include "base/text.h"

namespace netns::internal {

using namespace base::names;
using nl::Attributes;
using nl::Message;

namespace {

constexpr int type_of(int command) { return RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command); }

Attributes attributes_of(const nlmsghdr& reply) {
  return Attributes(reply, 0, RDMA_NLDEV_ATTR_MAX - 1);
}

}  // namespace

Message rdma_mode_request() {
  Message message(type_of(RDMA_NLDEV_CMD_SYS_GET), 0, "look up the namespace mode of RDMA");
  message.request_ack();
  return message;
}

std::optional<RdmaMode> parse_rdma_mode(const nlmsghdr& reply) {
  const Attributes attributes = attributes_of(reply);
  const std::span<const uint8_t> mode = attributes.bytes(RDMA_NLDEV_SYS_ATTR_NETNS_MODE);
  if (mode.empty()) return std::nullopt;
  return mode.front() == 0 ? RdmaMode::kExclusive : RdmaMode::kShared;
}

Message rdma_devices_request() {
  return Message(type_of(RDMA_NLDEV_CMD_GET), NLM_F_DUMP, "list RDMA devices");
}

std::optional<RdmaDeviceName> parse_rdma_device(const nlmsghdr& reply) {
  const Attributes attributes = attributes_of(reply);
  const std::optional<uint32_t> index = attributes.u32(RDMA_NLDEV_ATTR_DEV_INDEX);
  std::string name = attributes.text(RDMA_NLDEV_ATTR_DEV_NAME);
  if (!index.has_value() || name.empty()) return std::nullopt;
  return RdmaDeviceName{*index, std::move(name)};
}

Message rdma_ports_request(const RdmaDeviceName& device) {
  Message message(type_of(RDMA_NLDEV_CMD_PORT_GET), NLM_F_DUMP,
                  str("list ports of RDMA device ", quote(device.name)));
  message.put_u32(RDMA_NLDEV_ATTR_DEV_INDEX, device.index);
  return message;
}

std::optional<RdmaPort> parse_rdma_port(const nlmsghdr& reply) {
  const Attributes attributes = attributes_of(reply);
  const std::optional<uint32_t> port = attributes.u32(RDMA_NLDEV_ATTR_PORT_INDEX);
  std::string device = attributes.text(RDMA_NLDEV_ATTR_DEV_NAME);
  if (!port.has_value() || device.empty()) return std::nullopt;
  return RdmaPort{std::move(device), *port, attributes.text(RDMA_NLDEV_ATTR_NDEV_NAME)};
}

Message rdma_move_request(const RdmaDeviceName& device, int namespace_fd) {
  Message message(type_of(RDMA_NLDEV_CMD_SET), 0,
                  str("move RDMA device ", quote(device.name), " to another network namespace"));
  message.put_u32(RDMA_NLDEV_ATTR_DEV_INDEX, device.index);
  message.put_s32(RDMA_NLDEV_NET_NS_FD, namespace_fd);
  message.request_ack();
  return message;
}

}  // namespace netns::internal
