// SPDX-License-Identifier: Apache-2.0
// The command line of an OCI runtime, as runc, crun and youki take it and engines give it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hook::oci {

// What of a runtime's command line matters here. Everything else is passed on untouched.
struct CommandLine {
  std::string subcommand;  // empty if there is none, as for --version
  std::string log;         // --log; empty: standard error only
  bool log_json = false;   // --log-format json
  std::string root;        // --root; empty: the runtime's own default
  std::string bundle;      // --bundle of create, run, restore; empty: the working directory
  std::string config_name = "config.json";  // crun's --config
  // Of create, run, restore and checkpoint: the first word after the subcommand that is no option.
  std::string container;

  // Whether this call makes a container: only then are configuration and ledger looked at.
  [[nodiscard]] bool creates() const {
    return subcommand == "create" || subcommand == "run" || subcommand == "restore";
  }
  // Whether it saves one, which not every container with IPUs can bear.
  [[nodiscard]] bool saves() const { return subcommand == "checkpoint"; }
};

// Reads ARGS (without argv[0]) by the grammar of Go's flags and of argp: `-x` or `--x`, the value
// after
// '=' or in the next word. The subcommand is the first word that is neither a global option nor the
// value of one; the words are never searched for "create", which may be a container's name. Cannot
// fail: what it does not understand is left to the low-level runtime.
[[nodiscard]] CommandLine parse_command_line(const std::vector<std::string_view>& args);

}  // namespace hook::oci
