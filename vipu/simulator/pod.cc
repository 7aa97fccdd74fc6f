// SPDX-License-Identifier: Apache-2.0
#include "vipu/simulator/pod.h"

#include <arpa/inet.h>

#include "base/text.h"

namespace vipu::simulator {

using base::Code;
using base::Error;
using base::Result;
using base::str;

namespace {

Result<uint32_t> parse_fabric(std::string_view text, uint32_t machines) {
  const Error wrong(Code::kInvalid, str(base::quote(text),
                                        " is not an IPv4 network such as 10.5.1.0/24, with room ",
                                        "for ", machines, " machines"));
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return wrong;
  in_addr address{};
  if (::inet_pton(AF_INET, std::string(text.substr(0, slash)).c_str(), &address) != 1) return wrong;
  const Result<uint32_t> prefix = base::parse_int<uint32_t>(text.substr(slash + 1), 8, 30);
  if (!prefix.ok()) return wrong;
  const uint32_t network = ntohl(address.s_addr);
  const uint32_t host_mask = (1U << (32 - prefix.value())) - 1;
  // The last address is the broadcast address.
  if ((network & host_mask) != 0 || machines >= host_mask) return wrong;
  return network;
}

}  // namespace

Result<Pod> parse_pod(std::string_view name, std::string_view fabric) {
  Pod pod{std::string(name), name == "pod16" ? 4U : 16U, 0};
  if (name != "pod16" && name != "pod64") {
    return Error(Code::kInvalid, str(base::quote(name), " is no POD: use pod16 or pod64"));
  }
  pod.fabric_network = TRY(parse_fabric(fabric, pod.machines));
  return pod;
}

uint32_t machine_of(uint32_t ipu) { return ipu / kIpusPerMachine + 1; }

uint32_t number_in_machine(uint32_t ipu) { return ipu % kIpusPerMachine; }

std::string address_of(const Pod& pod, uint32_t machine) {
  const in_addr address{htonl(pod.fabric_network + machine)};
  char text[INET_ADDRSTRLEN] = "";
  (void)::inet_ntop(AF_INET, &address, text, sizeof text);
  return text;
}

IpuofDevice device_of(const Pod& pod, uint32_t ipu, uint32_t routing_id) {
  const uint32_t number = number_in_machine(ipu);
  IpuofDevice device;
  device.ip = address_of(pod, machine_of(ipu));
  device.server_port = kServerPort + number;
  device.rdma_port = kRdmaPort + number;
  device.device_id = number;
  device.routing_id = routing_id;
  device.ipu_arch_id = 2;  // Mk2
  device.ipu_id = ipu;
  device.chip_id = str("simulated-", machine_of(ipu), "-", number);
  device.gwsw_version = "simulated";
  device.ipum_sw_version = "simulated";
  return device;
}

}  // namespace vipu::simulator
