// SPDX-License-Identifier: Apache-2.0
#include "hook/device/cgroup.h"

#include <string_view>

#include "base/fs.h"
#include "base/text.h"

namespace hook {

bool has_rdma_cgroup(const std::string& path) {
  constexpr size_t kMaxBytes = 1 << 16;
  const base::Result<std::string> text = base::read_file(path, kMaxBytes);
  if (!text.ok()) return false;
  for (const std::string_view line : base::split(text.value(), '\n')) {
    // "rdma  HIERARCHY  CGROUPS  ENABLED"
    if (line.starts_with("rdma\t")) return base::trim(line).ends_with("\t1");
  }
  return false;
}

}  // namespace hook
