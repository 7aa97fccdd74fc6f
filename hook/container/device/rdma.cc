// SPDX-License-Identifier: Apache-2.0
#include "hook/container/device/rdma.h"

#include <algorithm>
#include <filesystem>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"

namespace hook::device {
namespace {

using namespace base::names;

constexpr uint32_t kMaxNumber = (1U << 20) - 1;  // for a minor; majors are smaller

// Returns the names in a directory, sorted; none if it cannot be read.
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

// Returns the one line of an attribute; empty if it is absent or, like an unused GID's, unreadable.
std::string attribute(const std::string& path) {
  const Result<std::string> text = base::read_file(path, 4096);
  return text.ok() ? std::string(base::trim(text.value())) : "";
}

// The GIDs to inspect. A port's first GID belongs to the interface that it drives itself. The
// others may belong to any interface above that: a bond, which no PCI device lists, or those of
// containers, whose names mean nothing here.

// Returns the port of DEVICE with such a GID of INTERFACE.
std::optional<uint32_t> port_with_gid_of(const std::string& device, const std::string& interface,
                                         bool all_entries) {
  for (const std::string& name : list(str(device, "/ports"))) {
    const Result<uint32_t> port = base::parse_int<uint32_t>(name, 1, 255);
    if (!port.ok()) continue;
    const std::string ndevs = str(device, "/ports/", name, "/gid_attrs/ndevs");
    for (const std::string& index : list(ndevs)) {
      const std::string owner = attribute(str(ndevs, "/", index));
      if (owner == interface) return port.value();
      if (!owner.empty() && !all_entries) break;
    }
  }
  return std::nullopt;
}

Result<oci::DeviceNode> read_node(const std::string& attribute_path, const std::string& node) {
  const std::string text = attribute(attribute_path);
  const size_t colon = text.find(':');
  if (colon == std::string::npos) {
    return Error(Code::kUnsupported, str("'", attribute_path, "' has no device number for ", node,
                                         "; load the kernel modules ib_uverbs and rdma_ucm"));
  }
  const uint32_t major = TRY(base::parse_int<uint32_t>(text.substr(0, colon), 0, kMaxNumber));
  const uint32_t minor = TRY(base::parse_int<uint32_t>(text.substr(colon + 1), 0, kMaxNumber));
  return oci::DeviceNode{node, major, minor};
}

// Returns "uverbs0", or an empty name.
std::string uverbs_of(const std::string& sysfs, const std::string& device) {
  const std::string verbs = str(sysfs, "/class/infiniband_verbs");
  for (const std::string& name : list(verbs)) {
    if (name.starts_with("uverbs") && attribute(str(verbs, "/", name, "/ibdev")) == device)
      return name;
  }
  return "";
}

// Parses "fe80:0000:0000:0000:0202:c9ff:fe12:3456" as sysfs writes it. Returns nothing for an
// unused entry, which sysfs shows as zero or not at all.
std::optional<std::array<uint8_t, 16>> parse_gid(const std::string& text) {
  const Result<netns::Address> address = netns::parse_address(text);
  if (!address.ok() || address.value().is_ipv4()) return std::nullopt;
  if (address.value().bytes == std::array<uint8_t, 16>{}) return std::nullopt;
  return address.value().bytes;
}

std::array<uint8_t, 16> gid_of(const netns::Address& address) {
  if (!address.is_ipv4()) return address.bytes;
  std::array<uint8_t, 16> gid{};
  constexpr size_t kPrefix = 12;
  gid[kPrefix - 2] = gid[kPrefix - 1] = 0xff;
  std::copy_n(address.bytes.begin(), 4, gid.begin() + kPrefix);
  return gid;
}

constexpr std::string_view kRoceV1 = "IB/RoCE v1";
constexpr std::string_view kRoceV2 = "RoCE v2";

}  // namespace

Result<RdmaDevice> open_rdma_device(const std::string& sysfs, const std::string& name,
                                    uint32_t port) {
  const std::string uverbs = uverbs_of(sysfs, name);
  if (uverbs.empty() && list(str(sysfs, "/class/infiniband/", name, "/ports")).empty()) {
    return Error(Code::kNotFound, str("there is no RDMA device ", base::quote(name)));
  }
  RdmaDevice device{name, port, {}};
  const std::string verbs_attribute = str(sysfs, "/class/infiniband_verbs/", uverbs, "/dev");
  device.nodes.push_back(TRY(read_node(verbs_attribute, str("/dev/infiniband/", uverbs))));
  const std::string cm_attribute = str(sysfs, "/class/misc/rdma_cm/dev");
  device.nodes.push_back(TRY(read_node(cm_attribute, "/dev/infiniband/rdma_cm")));
  return device;
}

Result<std::optional<RdmaDevice>> find_rdma_device(const std::string& sysfs,
                                                   const std::string& interface) {
  const std::string infiniband = str(sysfs, "/class/infiniband");
  const std::vector<std::string> names = list(infiniband);
  for (const bool all_entries : {false, true}) {
    for (const std::string& name : names) {
      const std::string device = str(infiniband, "/", name);
      const std::optional<uint32_t> port = port_with_gid_of(device, interface, all_entries);
      if (!port) continue;
      return std::optional<RdmaDevice>(TRY(open_rdma_device(sysfs, name, *port)));
    }
  }
  return std::optional<RdmaDevice>();
}

Result<GidTable> read_gids(const std::string& sysfs, const std::string& device, uint32_t port) {
  const std::string directory = str(sysfs, "/class/infiniband/", device, "/ports/", port);
  GidTable table;
  for (const std::string& name : list(str(directory, "/gids"))) {
    const Result<uint32_t> index = base::parse_int<uint32_t>(name, 0, UINT16_MAX);
    if (!index.ok()) continue;
    ++table.size;
    const auto value = parse_gid(attribute(str(directory, "/gids/", name)));
    if (!value) continue;
    table.used.push_back({index.value(), *value,
                          attribute(str(directory, "/gid_attrs/types/", name)),
                          attribute(str(directory, "/gid_attrs/ndevs/", name))});
  }
  if (table.size == 0) {
    return Error(Code::kNotFound,
                 str("RDMA device ", base::quote(device), " has no GID table for port ", port));
  }
  std::sort(table.used.begin(), table.used.end(),
            [](const Gid& a, const Gid& b) { return a.index < b.index; });
  return table;
}

std::optional<Gid> find_roce_v2_gid(const std::vector<Gid>& gids, const netns::Address& address) {
  const std::array<uint8_t, 16> value = gid_of(address);
  const auto found = std::find_if(gids.begin(), gids.end(), [&](const Gid& gid) {
    return gid.value == value && gid.type == kRoceV2;
  });
  return found == gids.end() ? std::nullopt : std::optional(*found);
}

uint32_t gid_entries_per_address(const std::vector<Gid>& gids) {
  const bool has_v1 =
      std::any_of(gids.begin(), gids.end(), [](const Gid& gid) { return gid.type == kRoceV1; });
  return has_v1 ? 2 : 1;
}

}  // namespace hook::device
