// SPDX-License-Identifier: Apache-2.0
// Daemons of engines that run on this host.
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
  std::vector<std::string> args;  // with argv[0]
  // Of a rootless one, which runs below rootlesskit: where its user's configuration is
  // ("~/.config"), and his sockets ("/run/user/1000"). Empty: it is root's.
  std::string config_home = {};
  std::string runtime_dir = {};
};

// The processes of this user below PROC ("/proc") whose program is called NAME ("dockerd"), and
// which have the same root directory as this process: one in a container is not the host's. A
// rootless one has it, in a mount namespace of its own.
std::vector<Daemon> find_daemons(const std::string& proc, std::string_view name);

// The values of an option among ARGS: "--config-file=X" or "--config-file X", by any of NAMES.
[[nodiscard]] std::vector<std::string> option_values(const std::vector<std::string>& args,
                                                     std::initializer_list<std::string_view> names);
// The last one, which counts; absent: it was not given.
[[nodiscard]] std::optional<std::string> option_value(
    const std::vector<std::string>& args, std::initializer_list<std::string_view> names);

// Sends SIGNAL to exactly that process. kNotFound if it has ended.
base::Status signal_daemon(const Daemon& daemon, int signal);

}  // namespace hook::engines
