// SPDX-License-Identifier: Apache-2.0
#include "hook/device/rdma.h"

#include <algorithm>
#include <filesystem>

#include "base/fs.h"
#include "base/text.h"

namespace hook {
namespace {

using base::Code;
using base::Error;
using base::Result;
using base::str;

constexpr uint32_t kMaxNumber = (1U << 20) - 1;  // of a device's minor; majors are smaller

// Names in a directory, sorted; none if it cannot be read.
std::vector<std::string> list(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code err;
  for (auto it = std::filesystem::directory_iterator(directory, err);
       !err && it != std::filesystem::directory_iterator(); it.increment(err)) {
    names.push_back(it->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The one line of an attribute; empty if it is absent or, as for an unused GID, unreadable.
std::string attribute(const std::string& path) {
  const Result<std::string> text = base::read_file(path, 4096);
  return text.ok() ? std::string(base::trim(text.value())) : "";
}

// The port of DEVICE whose GIDs belong to INTERFACE. True also for a bond, which no PCI device
// lists.
std::optional<uint32_t> port_with_gid_of(const std::string& device, const std::string& interface) {
  for (const std::string& name : list(str(device, "/ports"))) {
    const Result<uint32_t> port = base::parse_int<uint32_t>(name, 1, 255);
    if (!port.ok()) continue;
    const std::string ndevs = str(device, "/ports/", name, "/gid_attrs/ndevs");
    for (const std::string& index : list(ndevs)) {
      if (attribute(str(ndevs, "/", index)) == interface) return port.value();
    }
  }
  return std::nullopt;
}

Result<DeviceNode> read_node(const std::string& attribute_path, const std::string& node) {
  const std::string text = attribute(attribute_path);
  const size_t colon = text.find(':');
  if (colon == std::string::npos) {
    return Error(Code::kUnsupported,
                 str("'", attribute_path, "' tells no device number for ", node,
                     "; are the kernel modules ib_uverbs and rdma_ucm loaded?"));
  }
  const uint32_t major = TRY(base::parse_int<uint32_t>(text.substr(0, colon), 0, kMaxNumber));
  const uint32_t minor = TRY(base::parse_int<uint32_t>(text.substr(colon + 1), 0, kMaxNumber));
  return DeviceNode{node, major, minor};
}

// "uverbs0", or empty.
std::string uverbs_of(const std::string& sysfs, const std::string& device) {
  const std::string verbs = str(sysfs, "/class/infiniband_verbs");
  for (const std::string& name : list(verbs)) {
    if (name.starts_with("uverbs") && attribute(str(verbs, "/", name, "/ibdev")) == device)
      return name;
  }
  return "";
}

}  // namespace

Result<std::optional<RdmaDevice>> find_rdma_device(const std::string& sysfs,
                                                   const std::string& interface) {
  const std::string infiniband = str(sysfs, "/class/infiniband");
  for (const std::string& name : list(infiniband)) {
    const std::optional<uint32_t> port = port_with_gid_of(str(infiniband, "/", name), interface);
    if (!port) continue;
    RdmaDevice device{name, *port, {}};
    const std::string uverbs = uverbs_of(sysfs, name);
    const std::string verbs_attribute = str(sysfs, "/class/infiniband_verbs/", uverbs, "/dev");
    device.nodes.push_back(TRY(read_node(verbs_attribute, str("/dev/infiniband/", uverbs))));
    const std::string cm_attribute = str(sysfs, "/class/misc/rdma_cm/dev");
    device.nodes.push_back(TRY(read_node(cm_attribute, "/dev/infiniband/rdma_cm")));
    return std::optional<RdmaDevice>(std::move(device));
  }
  return std::optional<RdmaDevice>();
}

}  // namespace hook
