// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/doctor/device_links.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>

#include "base/text.h"

namespace ipuctl::doctor {
namespace {

using base::str;

std::string number_of(const hook::oci::DeviceNode& node) {
  return str(node.major, ":", node.minor);
}

bool is_there(const std::string& dev, const hook::oci::DeviceNode& node) {
  struct stat status {};
  return ::stat(str(dev, "/char/", number_of(node)).c_str(), &status) == 0 &&
         S_ISCHR(status.st_mode) && status.st_rdev == ::makedev(node.major, node.minor);
}

// Returns the command that makes the link as udev would. It replaces a link that leads elsewhere.
std::string command_for(const hook::oci::DeviceNode& node) {
  const std::string below_dev = node.path.substr(std::string_view("/dev/").size());
  return str("ln -sf ../", below_dev, " /dev/char/", number_of(node));
}

}  // namespace

std::vector<DeviceLink> look_at_device_links(const std::string& dev,
                                             const std::vector<hook::oci::DeviceNode>& nodes) {
  std::vector<DeviceLink> links;
  for (const hook::oci::DeviceNode& node : nodes) {
    const bool is_known = std::any_of(links.begin(), links.end(),
                                      [&](const DeviceLink& link) { return link.device == node; });
    if (!is_known) links.push_back({node, is_there(dev, node)});
  }
  return links;
}

void examine_device_links(const std::vector<DeviceLink>& links, std::vector<Finding>& findings) {
  constexpr const char* kCheck = "device links";
  const size_t before = findings.size();
  for (const DeviceLink& link : links) {
    if (link.is_there) continue;
    findings.push_back(
        {kCheck, Verdict::kWarning,
         str("/dev/char/", number_of(link.device), " does not point to ", link.device.path,
             ", so containers may lose this device at 'systemctl daemon-reload'"),
         command_for(link.device)});
  }
  if (links.empty() || findings.size() > before) return;
  findings.push_back({kCheck, Verdict::kOk, "systemd finds the devices of containers", ""});
}

}  // namespace ipuctl::doctor
