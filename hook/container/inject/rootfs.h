// SPDX-License-Identifier: Apache-2.0
// The root file system of a container from outside, for a hook that runs without the wrapper.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "hook/container/oci/spec.h"

namespace hook::inject {

// The root of a container whose mounts exist and whose first process has not entered it yet, as at
// createRuntime. An image may hold anything: each directory is opened by descriptor, and no link is
// followed. Nodes and directories are made only in the root file system itself, or in a tmpfs that
// the host does not have, never in another mount.
class Rootfs {
 public:
  // Opens the root of process PID, at PATH (config.json: root.path; absolute). Returns kUnsupported
  // if the process has the host's mounts, or another user namespace, where device nodes are
  // useless.
  static base::Result<Rootfs> open(pid_t pid, const std::string& path);

  // Checks, without making anything, that add_directory() finds or can make the directory PATH of
  // the container. Returns kUnsupported with what is in the way and what to do.
  [[nodiscard]] base::Status check_directory(const std::string& path) const;

  // Makes the node, read and write for everyone. Does nothing if it exists. Returns kExists if
  // something else is there, and kUnsupported if /dev is not the container's own tmpfs.
  base::Status add_device(const oci::DeviceNode& device);

  // Mounts a directory of the host read-only, as an entry of "mounts" would. Makes absent
  // directories of the destination; these stay.
  base::Status add_directory(const oci::DirectoryMount& mount);

 private:
  Rootfs() = default;
  [[nodiscard]] base::Result<base::Fd> directory(const std::string& path) const;

  base::Fd mounts_;  // the container's mount namespace
  base::Fd root_;
};

}  // namespace hook::inject
