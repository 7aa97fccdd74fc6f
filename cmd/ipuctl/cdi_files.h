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

// Returns the files that this host should have. While it has no card, that of cards is as it is.
base::Result<hook::cdi::Files> wanted_cdi_files(hook::lifecycle::Env& env,
                                                const hook::config::Config& config);

// Returns the directory in which the files are kept; nothing if they never were asked for.
base::Result<std::optional<std::string>> cdi_dir();

// Returns whether the paths mean one directory, such as "/run/cdi" and "/var/run/cdi/".
[[nodiscard]] bool is_same_dir(const std::string& one, const std::string& other);

struct WrittenCdi {
  hook::cdi::Files files;
  std::vector<std::string> changed;  // paths
};
// Makes DIR, or the earlier directory without DIR, hold the files of this host, and no other
// directory hold files of ours, and keeps that for refresh_cdi(). Each file is new as a whole or as
// it was.
base::Result<WrittenCdi> generate_cdi(hook::lifecycle::Env& env, const hook::config::Config& config,
                                      const std::string& dir);

// Removes the files, and what is remembered of them. Returns the paths that were there.
base::Result<std::vector<std::string>> remove_cdi_files();

// Writes the files anew if the cards or partitions changed. Does nothing where nobody asked for
// files. Returns the paths that changed.
base::Result<std::vector<std::string>> refresh_cdi(hook::lifecycle::Env& env,
                                                   const hook::config::Config& config);
// Does so after a command that changed partitions or the configuration, which has done its work: an
// error is only noted in the log, and the next `ipuctl gc` reports it.
void refresh_cdi_after_change(hook::lifecycle::Env& env);
void refresh_cdi_after_change();

void add_cdi_commands(CLI::App& app, std::function<base::Result<Outcome>()>& chosen);

}  // namespace ipuctl
