// SPDX-License-Identifier: Apache-2.0
// What a job of Slurm asks for, as its options --ipus and the like say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace slurm {

// What a node's administrator says in plugstack.conf.
struct Settings {
  std::string wait = "2m";            // how long a job waits for IPUs that a job before it had
  std::string cgroup = "/ipu-slurm";  // the parent of the cgroups of the jobs' containers
  std::string uplink = {};            // the file of a CNI network list; empty: none
  bool operator==(const Settings&) const = default;
};

struct Request {
  std::string ipus = {};       // a number
  std::string partition = {};  // or the name of one
  std::string gcd = {};        // "all" or a number; empty: a free one
  std::string account = {};    // whose tenant the job is, if there is one
  bool reconfigurable = false;
  bool operator==(const Request&) const = default;
  [[nodiscard]] bool empty() const { return ipus.empty() && partition.empty(); }
};

struct Arguments {
  Settings settings;
  Request request;
};

// Reads "NAME=VALUE" of each argument: settings, "--", and options of the job. Returns kInvalid,
// with the name of the option or setting, if one is unknown or its value impossible, and if the
// options contradict each other.
base::Result<Arguments> parse_arguments(const std::vector<std::string>& arguments);

// Returns REQUEST as arguments that parse_arguments() reads, "--" first.
[[nodiscard]] std::vector<std::string> to_arguments(const Request& request);

// Returns the variables that ask the runtime for what REQUEST says, "NAME=VALUE".
[[nodiscard]] std::vector<std::string> to_environment(const Request& request,
                                                      const Settings& settings);

}  // namespace slurm
