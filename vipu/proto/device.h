// SPDX-License-Identifier: Apache-2.0
// An IPU as virmgrpc.IpuofDevice, for every program that answers as a controller. A template, so
// that this header includes no generated one.
#pragma once

#include "vipu/types.h"

namespace vipu::proto {

template <typename IpuofDevice>
void fill_device(IpuofDevice& message, const vipu::IpuofDevice& device) {
  message.set_ip(device.ip);
  message.set_server_port(device.server_port);
  message.set_rdma_port(device.rdma_port);
  message.set_device_id(device.device_id);
  message.set_ipulink_segment_id(device.ipulink_segment_id);
  message.set_routing_id(device.routing_id);
  message.set_ipu_arch_id(device.ipu_arch_id);
  message.set_ipu_id(device.ipu_id);
  message.set_chip_id(device.chip_id);
  message.set_gwsw_version(device.gwsw_version);
  message.set_ipum_sw_version(device.ipum_sw_version);
}

}  // namespace vipu::proto
