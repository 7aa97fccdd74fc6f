// SPDX-License-Identifier: Apache-2.0
#include "hook/device/device_rules.h"

#include <fcntl.h>

#include "base/fs.h"
#include "base/text.h"
#include "hook/device/cgroup.h"
#include "hook/device/device_filter.h"

namespace hook {
namespace {

using base::Fd;
using base::Result;
using base::Status;
using base::str;

constexpr size_t kMaxBytes = 1 << 20;

bool exists(const std::string& path) { return base::open_at(AT_FDCWD, path, O_PATH).ok(); }

Status allow_in_first_version(const std::string& directory,
                              const std::vector<DeviceNode>& devices) {
  const std::string path = str(directory, "/devices.allow");
  const Fd allow = TRY(base::open_at(AT_FDCWD, path, O_WRONLY));
  for (const DeviceNode& device : devices) {
    TRY(base::write_all(allow.get(), str("c ", device.major, ":", device.minor, " rw"), path));
  }
  return {};
}

}  // namespace

Status allow_devices(pid_t pid, const std::vector<DeviceNode>& devices, const std::string& root) {
  const std::string theirs = TRY(base::read_file(str("/proc/", pid, "/cgroup"), kMaxBytes));
  const std::string ours = TRY(base::read_file("/proc/self/cgroup", kMaxBytes));
  const std::string first = cgroup_of(theirs, ours, "devices");
  if (!first.empty()) TRY(allow_in_first_version(str(root, "/devices", first), devices));
  const std::string second = cgroup_of(theirs, ours, "");
  if (second.empty()) return {};
  // Beside hierarchies of the first version the second one is mounted below them.
  const std::string beside = str(root, "/unified");
  const std::string directory = str(exists(beside) ? beside : root, second);
  const Fd cgroup = TRY(base::open_at(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY));
  return allow_by_programs(cgroup.get(), devices);
}

}  // namespace hook
