// SPDX-License-Identifier: Apache-2.0
// The device cgroup of a container that runs already.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "hook/container/oci/spec.h"

namespace hook::device {

// The cgroups that decide which devices a process may use, held open: those of version 1 (its file
// devices.allow) and 2 (device programs, also those of the systemd scope that it is in).
class DeviceCgroups {
 public:
  // Those of process PID, with ROOT as /sys/fs/cgroup. None that the process shares with this one.
  static base::Result<DeviceCgroups> of(pid_t pid, const std::string& root);

  // Lets all processes in them read and write DEVICES. Rules that are made so are lost when the
  // engine or systemd writes them again.
  [[nodiscard]] base::Status allow(const std::vector<oci::DeviceNode>& devices) const;

 private:
  DeviceCgroups() = default;

  base::Fd first_;                // devices.allow; may be none
  std::vector<base::Fd> second_;  // directories
};

}  // namespace hook::device
