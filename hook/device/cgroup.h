// SPDX-License-Identifier: Apache-2.0
// Which cgroup controllers this kernel has.
#pragma once

#include <string>

namespace hook {

// Whether use of RDMA can be limited: /proc/cgroups (cgroups(7)), at PATH, lists `rdma` as enabled.
[[nodiscard]] bool has_rdma_cgroup(const std::string& path = "/proc/cgroups");

}  // namespace hook
