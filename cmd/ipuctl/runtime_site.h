// SPDX-License-Identifier: Apache-2.0
// The container engines of this host, as `ipuctl runtime` finds them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/engines/engine.h"
#include "hook/engines/listing.h"

namespace ipuctl {

// One engine of this host.
struct Site {
  hook::engines::Engine engine;
  std::string file;
  std::vector<hook::engines::Daemon> daemons;  // running daemons that read FILE
  std::vector<hook::engines::Daemon> started;  // the same, or one as it would be started
};

// Returns the engine with CONFIG as its file; empty: the file that it uses.
base::Result<Site> find_site(hook::engines::Engine engine, const std::string& config);

// What an engine has of the runtime: in its file, and by its own word.
struct EngineState {
  std::string file;
  hook::engines::Registered found;
  hook::engines::Listing listing;
};
// Returns it for the runtime NAME of the engine with CONFIG as its file; see find_site().
base::Result<EngineState> find_state(hook::engines::Engine engine, const std::string& config,
                                     const std::string& name, const base::Deadline& deadline);
[[nodiscard]] std::string_view word_of(hook::engines::Listed listed);  // "yes", "no", "unknown"

// A program of an engine, or a low-level runtime, that is installed: what it says of its version,
// perhaps in several lines.
struct ProgramVersion {
  std::string name;  // "docker"
  std::string path;
  base::Result<std::string> says;
};
// Returns all that are found. None is asked for longer than 5 s.
[[nodiscard]] std::vector<ProgramVersion> program_versions(const base::Deadline& deadline);

// Returns the engines in NAMES; with "auto" or no names, the installed ones. A containerd that only
// docker uses does not count, unless its file has the runtime REGISTERED. Returns kNotFound if none
// is installed.
base::Result<std::vector<hook::engines::Engine>> choose_engines(
    const std::vector<std::string>& names, const std::string& registered);

// Returns kInvalid if the engine, with its options, would not start with ENTRY in its file.
base::Status check_options(const Site& site, const hook::engines::RuntimeEntry& entry);

// Returns the program with which CRI-O monitors containers; empty if none is found.
[[nodiscard]] std::string monitor_program();

}  // namespace ipuctl
