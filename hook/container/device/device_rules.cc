// SPDX-License-Identifier: Apache-2.0
#include "hook/container/device/device_rules.h"

#include <fcntl.h>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/container/device/cgroup.h"
#include "hook/container/device/device_filter.h"

namespace hook::device {
namespace {

using base::Fd;
using namespace base::names;

constexpr size_t kMaxCgroupFile = 1 << 20;

bool exists(const std::string& path) { return base::open_at(AT_FDCWD, path, O_PATH).ok(); }

// Returns the systemd scope above CGROUP. crun (from 1.23 on) puts a scope's processes into a
// cgroup below it, and leaves the device program to the scope.
std::string scope_of(const std::string& cgroup, const std::string& ours) {
  const std::string parent = cgroup.substr(0, cgroup.rfind('/'));
  const bool is_ours = str(ours, "/").starts_with(str(parent, "/"));
  return parent.ends_with(".scope") && !is_ours ? parent : "";
}

}  // namespace

Result<DeviceCgroups> DeviceCgroups::of(pid_t pid, const std::string& root) {
  const std::string theirs = TRY(base::read_file(str("/proc/", pid, "/cgroup"), kMaxCgroupFile));
  const std::string ours = TRY(base::read_file("/proc/self/cgroup", kMaxCgroupFile));
  DeviceCgroups cgroups;
  const std::string first = cgroup_of(theirs, ours, "devices");
  if (!first.empty()) {
    const std::string path = str(root, "/devices", first, "/devices.allow");
    cgroups.first_ = TRY(base::open_at(AT_FDCWD, path, O_WRONLY));
  }
  const std::string second = cgroup_of(theirs, ours, "");
  if (second.empty()) return cgroups;
  // Next to hierarchies of version 1, version 2 is mounted below them.
  const std::string beside = str(root, "/unified");
  const std::string mount = exists(beside) ? beside : root;
  for (const std::string& path : {scope_of(second, cgroup_of(ours, theirs, "")), second}) {
    if (path.empty()) continue;
    cgroups.second_.push_back(TRY(base::open_at(AT_FDCWD, mount + path, O_RDONLY | O_DIRECTORY)));
  }
  return cgroups;
}

Status DeviceCgroups::allow(const std::vector<oci::DeviceNode>& devices) const {
  for (const oci::DeviceNode& device : devices) {
    if (!first_.valid()) break;
    const std::string rule = str("c ", device.major, ":", device.minor, " rw");
    TRY(base::write_all(first_.get(), rule, "devices.allow"));
  }
  for (const Fd& cgroup : second_) TRY(allow_by_programs(cgroup.get(), devices));
  return {};
}

}  // namespace hook::device
