// SPDX-License-Identifier: Apache-2.0
// The command line of an OCI runtime, as engines write it and runc, crun and youki read it.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace hook::passing {

// The parts of a runtime's command line that matter here. All others are passed on untouched. Each
// part is one of the words, or the end of one.
struct CommandLine {
  std::string_view subcommand;  // empty if there is none, as for --version
  std::string_view log;         // --log; empty: standard error only
  bool log_json = false;        // --log-format json
  std::string_view root;        // --root; empty: the runtime's own default
  std::string_view bundle;      // --bundle of create, run, restore; empty: the working directory
  std::string_view config_name = "config.json";  // crun's --config
  // The first word after the subcommand create, run, restore, checkpoint or exec that is not an
  // option.
  std::string_view container;
  // --process of exec: the file, the index of the word that has it, and what that word has before
  // it. Empty and 0 if there is none.
  std::string_view process;
  size_t process_at = 0;
  std::string_view process_prefix;

  // Returns whether this call makes a container. Only then are configuration and ledger read.
  [[nodiscard]] bool creates() const {
    return subcommand == "create" || subcommand == "run" || subcommand == "restore";
  }
  // Returns whether this call saves a container, which not every container with IPUs allows.
  [[nodiscard]] bool saves() const { return subcommand == "checkpoint"; }
  // Returns whether this call runs one more process, which a file describes, in a container.
  [[nodiscard]] bool adds() const { return subcommand == "exec" && !process.empty(); }
};

// Parses ARGS (without argv[0]) by the grammar of Go's flags and of argp: `-x` or `--x`, with the
// value after '=' or in the next word. The subcommand is the first word that is neither a global
// option nor the value of one. The words are never searched for "create", which may be a
// container's name. Parsing cannot fail: unknown words are left to the low-level runtime.
[[nodiscard]] CommandLine parse_command_line(std::span<const std::string_view> args);

}  // namespace hook::passing
