// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-slurm/job/orders.h"

#include <linux/capability.h>

#include <algorithm>
#include <string_view>

#include "base/names.h"
#include "base/text.h"

namespace slurm {
namespace {

using namespace base::names;

constexpr std::string_view kRdma = "/dev/infiniband/";
// With these, a job could change its address, or send raw packets: see
// plan::forbidden_capabilities().
constexpr int kForbidden[] = {CAP_NET_ADMIN, CAP_NET_RAW};

// Poplar would ask the controller itself, which a job does not reach, or look for other IPUs.
constexpr std::string_view kForget = "unset\tIPUOF_VIPU_API_*\nunset\tIPUOF_CONFIG_PATH\n";

// Hides all devices but ENTRY's.
std::string show_devices(const Entry& entry, const HostFacts& host, const std::string& scratch) {
  std::string text;
  if (host.has_rdma) {
    for (const std::string& name : rdma_names(entry))
      text += str("bind\t", kRdma, name, "\t", scratch, "/", name, "\n");
    text += str("rbind\t", scratch, "\t/dev/infiniband\n");
  }
  for (const std::string& card : host.cards) {
    const auto& own = entry.devices;
    if (std::find(own.begin(), own.end(), card) == own.end())
      text += str("bind\t/dev/null\t", card, "\n");
  }
  return text;
}

}  // namespace

bool is_card(std::string_view name) {
  constexpr std::string_view kPrefix = "ipu";
  const size_t end = name.find_first_not_of("0123456789", kPrefix.size());
  const bool has_number =
      name.starts_with(kPrefix) && name.size() > kPrefix.size() && end != kPrefix.size();
  return has_number && (end == name.npos || name[end] == '_');
}

std::vector<std::string> rdma_names(const Entry& entry) {
  std::vector<std::string> names;
  for (const std::string& device : entry.devices) {
    const std::string_view name =
        std::string_view(device).substr(std::min(kRdma.size(), device.size()));
    if (device.starts_with(kRdma) && !name.empty() && name.find('/') == name.npos)
      names.emplace_back(name);
  }
  return names;
}

std::string orders(const Entry& entry, const Network& network, const HostFacts& host,
                   const std::string& scratch) {
  std::string text = str("network\t", network.pid, "\t", network.inode, "\nsysfs\n");
  for (const Mount& mount : entry.mounts)
    text += str("read\t", mount.source, "\t", mount.destination, "\n");
  text += show_devices(entry, host, scratch);
  if (!host.resolver.empty()) text += str("read\t", host.resolver, "\t/etc/resolv.conf\n");
  text += kForget;
  for (const std::string& variable : entry.environment) text += str("env\t", variable, "\n");
  for (const int capability : kForbidden) text += str("drop\t", capability, "\n");
  return text;
}

std::string orders_outside(const HostFacts& host, const std::string& scratch) {
  return str(show_devices({}, host, scratch), kForget);
}

}  // namespace slurm
