// SPDX-License-Identifier: Apache-2.0
#include "vipu/local/ipuof_file.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "vipu/placement.h"
#include "vipu/wire_fields.h"

namespace vipu::local {
namespace {

using namespace base::names;
using base::Json;
using wire::Fields;

constexpr size_t kMaxDevices = 1024;
constexpr size_t kMaxAttributes = 4096;
constexpr size_t kMaxText = 256;  // bytes of a version or an id
constexpr const char* kReconfigurable = "Fabric Reconfigurable";

using Number = std::pair<const char*, uint32_t IpuofDevice::*>;
constexpr Number kNumbers[] = {{"server_port", &IpuofDevice::server_port},
                               {"rdma_port", &IpuofDevice::rdma_port},
                               {"device_id", &IpuofDevice::device_id},
                               {"ipulink_segment_id", &IpuofDevice::ipulink_segment_id},
                               {"routing_id", &IpuofDevice::routing_id},
                               {"ipu_arch_id", &IpuofDevice::ipu_arch_id},
                               {"ipu_id", &IpuofDevice::ipu_id}};
using Text = std::pair<const char*, std::string IpuofDevice::*>;
constexpr Text kTexts[] = {{"ip", &IpuofDevice::ip},
                           {"chip_id", &IpuofDevice::chip_id},
                           {"gwsw_version", &IpuofDevice::gwsw_version},
                           {"ipum_sw_version", &IpuofDevice::ipum_sw_version}};

Result<uint32_t> number_of(const Fields& fields, const Json& device, const char* key) {
  const Json& value = device[key];
  if (!value.is_string()) return fields.number(key, 0, UINT32_MAX);
  const auto number = base::parse_int<uint32_t>(value.get_ref<const std::string&>(), 0, UINT32_MAX);
  if (!number.ok()) return fields.wrong(key, "a whole number");
  return number;
}

Status check_device(const Fields& fields, const IpuofDevice& device) {
  if (!wire::is_host_address(device.ip)) return fields.wrong("ip", "the IP address of a host");
  if (device.server_port == 0 || device.server_port > 65535) {
    return fields.wrong("server_port", "a port");
  }
  if (device.rdma_port > 65535) return fields.wrong("rdma_port", "a port");
  if (device.device_id >= kIpusPerMachine) {
    return fields.wrong("device_id", str("a number from 0 to ", kIpusPerMachine - 1));
  }
  return {};
}

Result<IpuofDevice> parse_device(const Json& json, const std::string& name) {
  const Fields fields = TRY(Fields::open(json, name));
  IpuofDevice device;
  size_t known = 0;
  for (const auto& [key, member] : kNumbers) {
    if (!fields.has(key)) continue;
    device.*member = TRY(number_of(fields, json, key));
    ++known;
  }
  for (const auto& [key, member] : kTexts) {
    if (!fields.has(key)) continue;
    device.*member = TRY(fields.text(key, kMaxText));
    ++known;
  }
  if (!fields.has("device_id")) return fields.wrong("device_id", "there");
  if (known != json.size()) {
    return Error(Code::kInvalid, str(name,
                                     " has a member that is not known, which a slice of it "
                                     "could not keep"));
  }
  TRY(check_device(fields, device));
  return device;
}

Status parse_devices(const Json& devices, IpuofConfig& config) {
  std::set<std::pair<std::string, uint32_t>> seen;
  for (const Json& json : devices) {
    const std::string name = str("device ", config.devices.size());
    IpuofDevice device = TRY(parse_device(json, name));
    if (!seen.insert({device.ip, device.device_id}).second) {
      return Error(Code::kInvalid, str(name, ": IPU ", device.device_id, " of ", quote(device.ip),
                                       " is in it twice"));
    }
    config.devices.push_back(std::move(device));
  }
  return {};
}

Result<IpuofConfig> parse_config(const Json& json) {
  if (json.is_array()) {
    return Error(Code::kInvalid,
                 "is a bare list, the format of 2020, which has no attributes; write it again with "
                 "'vipu get partition ID --gcd 0 --ipuof-configs'");
  }
  const Fields fields = TRY(Fields::open(json, "content"));
  const Json* devices = TRY(fields.array("devices", kMaxDevices));
  if (devices->empty()) return fields.wrong("devices", "a list of devices: it is empty");
  const Json* attributes = TRY(fields.object("attributes", kMaxAttributes));
  if (json.size() != 2) {
    return Error(Code::kInvalid, "has members other than 'devices' and 'attributes'");
  }
  IpuofConfig config;
  TRY(parse_devices(*devices, config));
  for (const auto& [name, value] : attributes->items()) {
    if (!value.is_string()) return fields.wrong("attributes", "a map of texts");
    config.attributes.emplace(name, value.get<std::string>());
  }
  return config;
}

}  // namespace

Result<IpuofConfig> parse_ipuof_file(std::string_view text, std::string_view what) {
  const Json json = TRY(base::parse_json(text, what));
  return TRY_CTX(what, parse_config(json));
}

Status check_reconfigurable(const IpuofConfig& config) {
  const auto at = config.attributes.find(kReconfigurable);
  if (at == config.attributes.end()) return {};
  std::string value = at->second;
  std::transform(value.begin(), value.end(), value.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (value != "false" && value != "0" && value != "no") return {};
  return Error(Code::kUnsupported, str("the partition is not reconfigurable (attribute '",
                                       kReconfigurable, "' is ", quote(at->second),
                                       "), so that no part of it can be used on its own; create it "
                                       "with 'vipu create partition --reconfigurable'"));
}

}  // namespace vipu::local
