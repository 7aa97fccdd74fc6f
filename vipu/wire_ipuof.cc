// SPDX-License-Identifier: Apache-2.0
// IPUoF configurations as JSON. What is read here ends up in routes, and in a file that a root
// process writes.
#include "base/names.h"
#include "vipu/wire_fields.h"
#include "vipu/wire_values.h"

namespace vipu::wire {
namespace {

using namespace base::names;
using base::Json;

constexpr size_t kMaxGcds = 1024;
constexpr size_t kMaxDevices = 1024;    // of one GCD
constexpr size_t kMaxDeviceText = 256;  // bytes of a version or an id
constexpr size_t kMaxDeviceAttributes = 4096;
constexpr size_t kMaxAttributeName = 1024;    // bytes
constexpr size_t kMaxAttributeValue = 65536;  // bytes; may hold routing and topology tables

Json device_to_json(const IpuofDevice& device) {
  return {{"ip", device.ip},
          {"server_port", device.server_port},
          {"rdma_port", device.rdma_port},
          {"device_id", device.device_id},
          {"ipulink_segment_id", device.ipulink_segment_id},
          {"routing_id", device.routing_id},
          {"ipu_arch_id", device.ipu_arch_id},
          {"ipu_id", device.ipu_id},
          {"chip_id", device.chip_id},
          {"gwsw_version", device.gwsw_version},
          {"ipum_sw_version", device.ipum_sw_version}};
}

Result<IpuofDevice> parse_device(const Json& json) {
  const Fields fields = TRY(Fields::open(json, "device"));
  IpuofDevice device;
  device.ip = TRY(fields.text("ip", kMaxDeviceText));
  if (!is_host_address(device.ip)) return fields.wrong("ip", "the IP address of a host");
  device.server_port = TRY(fields.number("server_port", 1, 65535));
  device.rdma_port = TRY(fields.number("rdma_port", 0, 65535));
  device.device_id = TRY(fields.number("device_id", 0, UINT32_MAX));
  device.ipulink_segment_id = TRY(fields.number("ipulink_segment_id", 0, UINT32_MAX));
  device.routing_id = TRY(fields.number("routing_id", 0, UINT32_MAX));
  device.ipu_arch_id = TRY(fields.number("ipu_arch_id", 0, UINT32_MAX));
  device.ipu_id = TRY(fields.number("ipu_id", 0, UINT32_MAX));
  device.chip_id = TRY(fields.text("chip_id", kMaxDeviceText));
  device.gwsw_version = TRY(fields.text("gwsw_version", kMaxDeviceText));
  device.ipum_sw_version = TRY(fields.text("ipum_sw_version", kMaxDeviceText));
  return device;
}

Result<IpuofConfig> parse_config(const Json& json) {
  const Fields fields = TRY(Fields::open(json, "IPUoF configuration"));
  IpuofConfig config;
  const Json* devices = TRY(fields.array("devices", kMaxDevices));
  if (devices->empty()) return fields.wrong("devices", "a list of devices: it is empty");
  for (const Json& device : *devices) config.devices.push_back(TRY(parse_device(device)));
  const Json* attributes = TRY(fields.object("attributes", kMaxDeviceAttributes));
  for (const auto& [name, value] : attributes->items()) {
    if (name.size() > kMaxAttributeName || !value.is_string() ||
        value.get_ref<const std::string&>().size() > kMaxAttributeValue) {
      return fields.wrong("attributes", "a map of texts");
    }
    config.attributes.emplace(name, value.get<std::string>());
  }
  return config;
}

}  // namespace

Json to_json(const IpuofConfig& config) {
  Json devices = Json::array();
  for (const IpuofDevice& device : config.devices) devices.push_back(device_to_json(device));
  Json attributes = Json::object();
  for (const auto& [name, value] : config.attributes) attributes[name] = value;
  return {{"devices", std::move(devices)}, {"attributes", std::move(attributes)}};
}

Json to_json(const Grant& grant) {
  Json gcds = Json::array();
  for (const IpuofConfig& config : grant.gcds) gcds.push_back(to_json(config));
  return {{"gcds", std::move(gcds)}};
}

template <>
Result<Grant> from_json(const Json& json) {
  const Fields fields = TRY(Fields::open(json, "grant"));
  const Json* gcds = TRY(fields.array("gcds", kMaxGcds));
  if (gcds->empty()) return fields.wrong("gcds", "a list of configurations: it is empty");
  Grant grant;
  for (const Json& config : *gcds) grant.gcds.push_back(TRY(parse_config(config)));
  return grant;
}

}  // namespace vipu::wire
