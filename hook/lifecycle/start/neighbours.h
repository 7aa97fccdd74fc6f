// SPDX-License-Identifier: Apache-2.0
// The other processes of a network namespace with IPUs. Who has CAP_NET_RAW or CAP_NET_ADMIN there
// is past the filter of the container (netns/filter.h), though not past the border
// (netns/border.h).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace hook::lifecycle::start {

// Fails with kDenied while a process other than INIT (0: none) has CAP_NET_ADMIN in the network
// namespace at PATH. Waits for such a process until DEADLINE: a container that is just being
// created has all capabilities for a moment.
base::Status check_neighbours(const std::string& path, pid_t init, const base::Deadline& deadline);

// Returns whether any container has interfaces of a lease, so that the functions below may return
// something. Costs one system call.
[[nodiscard]] bool may_restrict(const std::string& run_dir);

// Returns SPEC, a config.json, without both capabilities, if it names a network namespace with
// interfaces of a lease, whatever else it has. Returns nothing if SPEC may stay as it is. Returns
// kInvalid if SPEC is no JSON object: crun reads more than JSON, such as comments.
base::Result<std::optional<std::string>> restrict_container(const std::string& run_dir,
                                                            std::string_view spec);

// Decides on a config.json that is too long to be read: fails with the reason if it could join such
// a namespace. ERROR is that of reading it.
base::Status check_readable(const std::string& run_dir, const base::Error& error);

// Does the same as restrict_container() for PROCESS, a process object of the OCI runtime
// specification, which is to run in the container that the low-level runtime keeps in STATE_DIR.
// Returns nothing if PROCESS is no JSON object, because an exec must work.
[[nodiscard]] std::optional<std::string> restrict_process(const std::string& run_dir,
                                                          const std::string& state_dir,
                                                          std::string_view process);

}  // namespace hook::lifecycle::start
