// SPDX-License-Identifier: Apache-2.0
// The runtime's orders to the hook: a file beside the lease on the host. The hook reads no
// configuration, which may be invalid by then.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "netns/address.h"
#include "netns/types.h"

namespace hook::plan {

inline constexpr const char* kOrdersFile = "attach.json";
// The result of `ipu-container-hook probe`: see ProbeReport.
inline constexpr const char* kProbeFile = "probe.json";

struct AttachOrders {
  struct Port {
    std::string interface;  // of the container
    std::string device;     // RDMA device
    uint32_t port = 1;
    bool operator==(const Port&) const = default;
  };
  std::chrono::milliseconds gid_wait{0};  // for the GID of an interface's address on its port
  std::vector<Port> ports = {};
  std::chrono::milliseconds probe{0};  // for other hosts to answer; 0: no probe
  // The border (netns/border.h): where frames are filtered, and all parents of the configuration.
  netns::FilterPlace filter = netns::FilterPlace::kNamespace;
  std::vector<netns::BorderParent> parents = {};
  bool operator==(const AttachOrders&) const = default;
};

// The other hosts that have an interface's address: interface -> the host's MAC.
using ProbeReport = std::map<std::string, netns::MacAddress>;

std::string to_text(const ProbeReport& report);
base::Result<ProbeReport> parse_probe_report(const std::string& text);

std::string to_text(const AttachOrders& orders);
base::Result<AttachOrders> parse_orders(const std::string& text);

}  // namespace hook::plan
