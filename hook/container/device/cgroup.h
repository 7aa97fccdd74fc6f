// SPDX-License-Identifier: Apache-2.0
// Cgroups: what this kernel limits, and the processes of a container.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hook::device {

// Returns whether RDMA use can be limited: PATH, /proc/cgroups (cgroups(7)), lists `rdma` as
// enabled.
[[nodiscard]] bool has_rdma_cgroup(const std::string& path = "/proc/cgroups");

// Returns the directory, below /sys/fs/cgroup, of a cgroup of the process of /proc/PID/cgroup
// THEIRS that the process of OURS is not in: "/docker/ID" if only version 2 is mounted, else
// "/devices/docker/ID", "/unified/docker/ID". Returns an empty path if IS_THERE is true for none. A
// cgroup that a container shares with its engine says nothing about the container.
[[nodiscard]] std::string own_cgroup(std::string_view theirs, std::string_view ours,
                                     const std::function<bool(const std::string&)>& is_there);
// Returns the path of the cgroup of CONTROLLERS ("devices"; "" for version 2) of the process of
// /proc/PID/cgroup THEIRS, unless the process of OURS is in it; empty if there is none.
[[nodiscard]] std::string cgroup_of(std::string_view theirs, std::string_view ours,
                                    std::string_view controllers);
// Returns own_cgroup() for process PID, as this process sees it, with ROOT as /sys/fs/cgroup; empty
// also if it cannot be read.
[[nodiscard]] std::string find_cgroup(pid_t pid, const std::string& root);

// Calls VISIT with each process of the cgroup DIRECTORY and of those below it, until it returns
// kEnough. A process that this pid namespace does not show is 0, or is left out. An absent
// DIRECTORY has no processes. Returns kInternal if there are too many to visit.
enum class Visit { kMore, kEnough };
base::Status visit_processes(const std::string& directory,
                             const std::function<Visit(pid_t pid)>& visit);

}  // namespace hook::device
