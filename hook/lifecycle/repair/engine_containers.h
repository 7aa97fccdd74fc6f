// SPDX-License-Identifier: Apache-2.0
// Finds what engines and low-level runtimes record about their containers in files below /run.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace hook::lifecycle::repair {

struct EngineContainer {
  std::string container;
  std::string lease;        // from its annotation "graphcore.ai/ipu.lease"
  pid_t pid = 0;            // pid of its first process, which may have ended
  uint64_t start_time = 0;  // start time of that process, as in base::ProcessId; 0: unknown
};

// Returns the containers with a lease, from containerd's bundles (also docker's) and the states of
// runc and crun below RUN ("/run"). Omits what is unreadable. A container in two places is listed
// twice.
[[nodiscard]] std::vector<EngineContainer> find_engine_containers(const std::string& run);

}  // namespace hook::lifecycle::repair
