// SPDX-License-Identifier: Apache-2.0
// The container that holds a job's IPUs and its network namespace. It runs a program that only
// waits; the job's tasks enter the namespace.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace slurm {

// Where the container has its program.
inline constexpr const char* kPause = "/pause";

struct BundleInput {
  std::string program;                   // on the host, what becomes kPause
  std::vector<std::string> environment;  // what it asks the runtime for
  std::string cgroup;                    // its path
};

// Returns the config.json (OCI 1.0) of the container.
[[nodiscard]] std::string bundle_text(const BundleInput& input);

// What a task has to do to use the IPUs.
struct Mount {
  std::string source;
  std::string destination;
};
struct Entry {
  std::vector<std::string> environment;  // "NAME=VALUE"
  std::vector<Mount> mounts;             // directories to be mounted read-only
  std::vector<std::string> devices;      // paths of device nodes below /dev
};

// Returns what the runtime added to the config.json that bundle_text(INPUT) had: TEXT is what it is
// now. Returns kInvalid if that is no config.json, and if a value has a tab or a newline.
base::Result<Entry> entry_of(const BundleInput& input, std::string_view text);

}  // namespace slurm
