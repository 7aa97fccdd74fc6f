// SPDX-License-Identifier: Apache-2.0
// What engines and low-level runtimes say of their containers, in the files that they keep below
// /run.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace hook::lifecycle::repair {

struct EngineContainer {
  std::string container;
  std::string lease;        // by its annotation "graphcore.ai/ipu.lease"
  pid_t pid = 0;            // of its first process, which may have ended
  uint64_t start_time = 0;  // of that, as in base::ProcessId; 0: not said
};

// The containers with a lease, by containerd's bundles (of docker too) and the states of runc and
// crun below RUN ("/run"). What cannot be read is left out; one that two know is there twice.
[[nodiscard]] std::vector<EngineContainer> find_engine_containers(const std::string& run);

}  // namespace hook::lifecycle::repair
