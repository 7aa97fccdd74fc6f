// SPDX-License-Identifier: Apache-2.0
// What the runtime tells the hook beside the lease: a file of the lease on the host. The hook reads
// no configuration, which may be broken by then.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "netns/address.h"

namespace hook::plan {

inline constexpr const char* kOrdersFile = "attach.json";
// What `ipu-container-hook probe` found: see ProbeReport.
inline constexpr const char* kProbeFile = "probe.json";

struct AttachOrders {
  struct Port {
    std::string interface;  // of the container
    std::string device;     // of RDMA
    uint32_t port = 1;
    bool operator==(const Port&) const = default;
  };
  std::chrono::milliseconds gid_wait{0};  // for the GID of the interface's address on its port
  std::vector<Port> ports = {};
  std::chrono::milliseconds probe{0};  // given to other hosts to answer; 0: they are not asked
  bool operator==(const AttachOrders&) const = default;
};

// Which other host has the address of an interface: interface -> its MAC.
using ProbeReport = std::map<std::string, netns::MacAddress>;

std::string to_text(const ProbeReport& report);
base::Result<ProbeReport> parse_probe_report(const std::string& text);

std::string to_text(const AttachOrders& orders);
base::Result<AttachOrders> parse_orders(const std::string& text);

}  // namespace hook::plan
