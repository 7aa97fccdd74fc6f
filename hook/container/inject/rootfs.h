// SPDX-License-Identifier: Apache-2.0
// The root file system of a container from outside, for a hook that has no wrapper before it.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "hook/container/oci/spec.h"

namespace hook::inject {

// The root of a container whose mounts are made and whose first process has not entered it yet, as
// at createRuntime. An image may hold anything: each directory is reached by its descriptor, no
// link is followed, and what is made lies in the root file system itself or in a tmpfs that the
// host does not have, never in what somebody mounted there.
class Rootfs {
 public:
  // That of process PID, at PATH (config.json: root.path; absolute). kUnsupported if the process
  // has the host's mounts, or another user namespace, in which device nodes are of no use.
  static base::Result<Rootfs> open(pid_t pid, const std::string& path);

  // Makes the node, read and write for everybody. Nothing if it is there; kExists if something else
  // is; kUnsupported where /dev is no tmpfs of the container's own.
  base::Status add_device(const oci::DeviceNode& device);

  // Shows a file of the host read-only, as an entry of "mounts" would. The directories of the
  // destination and an empty file under the mount are made where they are absent, and stay.
  base::Status add_file(const oci::FileMount& mount);

 private:
  Rootfs() = default;
  [[nodiscard]] base::Result<base::Fd> directory_of(const std::string& path) const;

  base::Fd mounts_;  // the container's mount namespace
  base::Fd root_;
};

}  // namespace hook::inject
