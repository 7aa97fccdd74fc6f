// SPDX-License-Identifier: Apache-2.0
// The engines of this host, as `ipuctl runtime` finds them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "hook/engines/engine.h"

namespace ipuctl {

// One engine as it is found here.
struct Site {
  hook::engines::Engine engine;
  std::string file;
  std::vector<hook::engines::Daemon> daemons;  // those that run and read FILE
  std::vector<hook::engines::Daemon>
      started;  // the same; where none runs, one as it would be started
};

// The engine with CONFIG as its file; empty: the file that it uses.
base::Result<Site> find_site(hook::engines::Engine engine, const std::string& config);

// Those that NAMES say; with "auto", or none, those that are installed here. kNotFound if none is.
base::Result<std::vector<hook::engines::Engine>> choose_engines(
    const std::vector<std::string>& names);

// kInvalid if the engine would not start with ENTRY in its file, for what it is started with.
base::Status check_options(const Site& site, const hook::engines::RuntimeEntry& entry);

// The program that CRI-O is to watch containers with; empty: there is none where we look.
[[nodiscard]] std::string monitor_program();

}  // namespace ipuctl
