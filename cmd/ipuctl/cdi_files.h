// SPDX-License-Identifier: Apache-2.0
// The CDI files of this host: looks at cards and partitions, and keeps the files of `ipuctl cdi
// generate` as they are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hook/cdi/generate.h"
#include "hook/config/config.h"
#include "hook/lifecycle/env.h"

namespace CLI {
class App;
}  // namespace CLI

namespace ipuctl {

struct Outcome;

// Where engines look: the first is the administrator's, the second is empty after a reboot.
inline constexpr const char* kCdiDirs[] = {"/etc/cdi", "/var/run/cdi"};

// Returns the files that this host should have.
base::Result<hook::cdi::Files> wanted_cdi_files(hook::lifecycle::Env& env,
                                                const hook::config::Config& config);

// Returns the directory in which the files are kept; nothing if they never were asked for.
base::Result<std::optional<std::string>> cdi_dir();

// Makes DIR, or the earlier directory without DIR, hold FILES and no other files of ours, and keeps
// that for refresh_cdi(). Each file is new as a whole or as it was. Returns the paths that changed.
base::Result<std::vector<std::string>> write_cdi_files(const std::string& dir,
                                                       const hook::cdi::Files& files);

// Removes the files and what is remembered of them. Returns the paths that were there.
base::Result<std::vector<std::string>> remove_cdi_files();

// Writes the files anew if the cards or partitions changed. Does nothing where nobody asked for
// files. Returns the paths that changed.
base::Result<std::vector<std::string>> refresh_cdi(hook::lifecycle::Env& env,
                                                   const hook::config::Config& config);
// Does so after a command that changed partitions, which has done its work: an error is only noted
// in the log, and the next `ipuctl gc` reports it.
void refresh_cdi_after_change(hook::lifecycle::Env& env);

void add_cdi_commands(CLI::App& app, std::function<base::Result<Outcome>()>& chosen);

}  // namespace ipuctl
