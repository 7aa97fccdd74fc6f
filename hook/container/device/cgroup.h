// SPDX-License-Identifier: Apache-2.0
// Cgroups: what this kernel limits, and which processes a container has.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hook::device {

// Whether use of RDMA can be limited: /proc/cgroups (cgroups(7)), at PATH, lists `rdma` as enabled.
[[nodiscard]] bool has_rdma_cgroup(const std::string& path = "/proc/cgroups");

// The directory, below /sys/fs/cgroup, of a cgroup that the process of /proc/PID/cgroup THEIRS is
// in and the one of OURS is not: "/docker/ID" where the second version is mounted alone, else
// "/devices/docker/ID", "/unified/docker/ID". Empty if there is none for which IS_THERE is true.
// A cgroup that a container shares with its engine says nothing about the container.
[[nodiscard]] std::string own_cgroup(std::string_view theirs, std::string_view ours,
                                     const std::function<bool(const std::string&)>& is_there);
// The path of the cgroup of CONTROLLERS ("devices"; "" for the second version) that the process of
// /proc/PID/cgroup THEIRS is in and the one of OURS is not; empty if there is none.
[[nodiscard]] std::string cgroup_of(std::string_view theirs, std::string_view ours,
                                    std::string_view controllers);
// As own_cgroup() for process PID, as seen from this one, with ROOT as /sys/fs/cgroup; empty also
// if it cannot be read.
[[nodiscard]] std::string find_cgroup(pid_t pid, const std::string& root);

// Calls VISIT with each process of the cgroup DIRECTORY and of those below it, until it returns
// kEnough. A process that is not visible in this pid namespace is 0, or is left out. An absent
// DIRECTORY has none. kInternal if there are more than can be looked at.
enum class Visit { kMore, kEnough };
base::Status visit_processes(const std::string& directory,
                             const std::function<Visit(pid_t pid)>& visit);

}  // namespace hook::device
