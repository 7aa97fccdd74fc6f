// SPDX-License-Identifier: Apache-2.0
#include "netns/rdma.h"

#include <linux/netlink.h>

#include <algorithm>
#include <cerrno>

#include "base/names.h"
#include "base/text.h"
#include "netns/internal/nl.h"
#include "netns/internal/rdma_messages.h"

namespace netns {

using namespace base::names;
using internal::RdmaDeviceName;
using nl::Message;

namespace {

// Returns nothing if the kernel has no RDMA. Loads the module if the kernel has one.
Result<std::optional<nl::Socket>> open_socket(const Namespace& in) {
  Result<nl::Socket> socket = nl::Socket::open(in, NETLINK_RDMA);
  if (socket.ok()) return std::optional<nl::Socket>(std::move(socket).take());
  if (socket.error().sys_errno() == EPROTONOSUPPORT) return std::optional<nl::Socket>();
  return std::move(socket).error();
}

Result<std::vector<RdmaDeviceName>> list_devices(nl::Socket& socket) {
  std::vector<RdmaDeviceName> devices;
  Message request = internal::rdma_devices_request();
  TRY(socket.exchange(request, [&](const nlmsghdr& reply) {
    if (auto device = internal::parse_rdma_device(reply)) devices.push_back(std::move(*device));
  }));
  return devices;
}

}  // namespace

Result<std::optional<RdmaMode>> rdma_mode(const Namespace& in) {
  std::optional<nl::Socket> socket = TRY(open_socket(in));
  std::optional<RdmaMode> mode;
  if (!socket) return mode;
  Message request = internal::rdma_mode_request();
  TRY(socket->exchange(request,
                       [&](const nlmsghdr& reply) { mode = internal::parse_rdma_mode(reply); }));
  // Before this mode existed (5.2), every device was in the host's namespace, usable by all.
  return mode.has_value() ? mode : RdmaMode::kShared;
}

Result<std::vector<RdmaPort>> rdma_ports(const Namespace& in) {
  std::vector<RdmaPort> ports;
  std::optional<nl::Socket> socket = TRY(open_socket(in));
  if (!socket) return ports;
  for (const RdmaDeviceName& device : TRY(list_devices(*socket))) {
    Message request = internal::rdma_ports_request(device);
    Status listed = socket->exchange(request, [&](const nlmsghdr& reply) {
      if (auto port = internal::parse_rdma_port(reply)) ports.push_back(std::move(*port));
    });
    // The device was moved to another namespace meanwhile.
    if (!listed.ok() && listed.error().sys_errno() == ENODEV) continue;
    if (!listed.ok()) return std::move(listed).error();
  }
  return ports;
}

Status move_rdma_device(const Namespace& from, const std::string& device, const Namespace& to) {
  std::optional<nl::Socket> socket = TRY(open_socket(from));
  std::vector<RdmaDeviceName> devices;
  if (socket) devices = TRY(list_devices(*socket));
  const auto found = std::find_if(devices.begin(), devices.end(),
                                  [&](const RdmaDeviceName& each) { return each.name == device; });
  if (found == devices.end()) {
    return Error(Code::kNotFound, str("there is no RDMA device ", quote(device)));
  }
  Message request = internal::rdma_move_request(*found, to.fd());
  Status moved = socket->exchange(request);
  if (moved.ok() || moved.error().sys_errno() != EOPNOTSUPP) return moved;
  return Error(
      Code::kUnsupported,
      str(moved.error().message(),
          "; use a driver that supports it, and run 'rdma system set netns exclusive' at boot"));
}

}  // namespace netns
