// SPDX-License-Identifier: Apache-2.0
// The device cgroup of a container that already runs.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "hook/container/oci/spec.h"

namespace hook::device {

// The cgroups that decide which devices a process may use, held open: version 1 (the file
// devices.allow) and version 2 (device programs, including those of its systemd scope).
class DeviceCgroups {
 public:
  // Opens the cgroups of process PID, with ROOT as /sys/fs/cgroup, except those shared with this
  // process.
  static base::Result<DeviceCgroups> of(pid_t pid, const std::string& root);

  // Lets all processes in them read and write DEVICES. These rules are lost when the engine or
  // systemd writes its own again.
  [[nodiscard]] base::Status allow(const std::vector<oci::DeviceNode>& devices) const;

 private:
  DeviceCgroups() = default;

  base::Fd first_;                // devices.allow; may be none
  std::vector<base::Fd> second_;  // directories
};

}  // namespace hook::device
