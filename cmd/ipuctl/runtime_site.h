// SPDX-License-Identifier: Apache-2.0
// The container engines of this host, as `ipuctl runtime` finds them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "hook/engines/engine.h"

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
