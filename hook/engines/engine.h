// SPDX-License-Identifier: Apache-2.0
// Engines, and the file change that registers a runtime with one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hook/engines/daemon.h"
#include "hook/engines/file_edit.h"
#include "hook/engines/runtime_entry.h"

namespace hook::engines {

enum class Engine { kDocker, kContainerd, kCrio, kPodman };
inline constexpr Engine kEngines[] = {Engine::kDocker, Engine::kContainerd, Engine::kCrio,
                                      Engine::kPodman};
[[nodiscard]] std::string_view name_of(Engine engine);  // "docker"
[[nodiscard]] std::string_view daemon_of(
    Engine engine);  // "dockerd"; podman itself, which has no daemon
base::Result<Engine> parse_engine(std::string_view name);  // kInvalid, with the known names

// Returns the daemons of ENGINE that run for this user, except the containerd that docker starts.
std::vector<Daemon> daemons_of(Engine engine);

// Where to look for an engine's configuration.
struct Surroundings {
  std::string root;  // prefix of every path; "": the whole file system
  bool is_root = true;
  std::string config_home = {};  // "~/.config" of a user other than root; empty: unknown
};

// Returns the file of ENGINE: the file that one of DAEMONS was given, its snap's if only that
// exists, or the usual one. Returns kInvalid if daemons were given different files or the user's
// are unknown, and kDenied if only root can change any.
base::Result<std::string> file_of(Engine engine, const std::vector<Daemon>& daemons,
                                  const Surroundings& where);

// Returns the edit that adds ENTRY to the file PATH of ENGINE; before equals after if nothing
// changes. Fails as the engine's own function does, or if the file cannot be read. Returns
// kUnsupported if the engine could not start the program, or if another program writes its file.
base::Result<FileEdit> plan_configure(Engine engine, const std::string& path,
                                      const RuntimeEntry& entry);
// Returns the edit that removes the runtime NAME. If the file has not changed since, it restores
// the exact text from before the entry was added; otherwise at least the former default runtime.
base::Result<FileEdit> plan_unconfigure(Engine engine, const std::string& path,
                                        const std::string& name);

// Returns, as one line, why the runtime has no effect although PATH names it; empty if it has.
base::Result<std::string> find_hindrance(Engine engine, const std::string& path);

// Returns the entry of the runtime NAME in the file PATH.
base::Result<Registered> find_runtime(Engine engine, const std::string& path,
                                      const std::string& name);

}  // namespace hook::engines
