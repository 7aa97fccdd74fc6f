// SPDX-License-Identifier: Apache-2.0
// Engine daemons that run on this host.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"

namespace hook::engines {

struct Daemon {
  base::ProcessId process;
  std::vector<std::string> args;  // argv[0] included
  // For a rootless daemon, which runs below rootlesskit: the directories of its user's
  // configuration ("~/.config") and sockets ("/run/user/1000"). Empty: the daemon is root's.
  std::string config_home = {};
  std::string runtime_dir = {};
};

// Returns this user's processes below PROC ("/proc") whose program is called NAME ("dockerd") and
// whose root directory is this process's. A daemon in a container has another root; a rootless one
// has the same, in its own mount namespace.
std::vector<Daemon> find_daemons(const std::string& proc, std::string_view name);

// Returns the values of an option among ARGS, by any of NAMES: "--config-file=X" or "--config-file
// X".
[[nodiscard]] std::vector<std::string> option_values(const std::vector<std::string>& args,
                                                     std::initializer_list<std::string_view> names);
// Returns the last value, which counts, or nothing if the option was not given.
[[nodiscard]] std::optional<std::string> option_value(
    const std::vector<std::string>& args, std::initializer_list<std::string_view> names);

}  // namespace hook::engines
