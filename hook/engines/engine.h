// SPDX-License-Identifier: Apache-2.0
// Engines, and the change of the file that tells one about a runtime.
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
    Engine engine);  // "dockerd"; of podman itself, which has none
base::Result<Engine> parse_engine(
    std::string_view name);  // kInvalid, with the names that there are

// Those of ENGINE that run for this user; not the containerd that docker starts for itself.
std::vector<Daemon> daemons_of(Engine engine);

// Where an engine's configuration is looked for.
struct Surroundings {
  std::string root;  // "": of the whole file system, in front of each path
  bool is_root = true;
  std::string config_home = {};  // "~/.config" of a user who is not root; empty: not known
};

// The file of ENGINE: what one of its DAEMONS was told, that of its snap if only that is there, or
// the usual one. kInvalid if daemons were told different files, or the user's are not known;
// kDenied where only root can change any.
base::Result<std::string> file_of(Engine engine, const std::vector<Daemon>& daemons,
                                  const Surroundings& where);

// What is to change in the file PATH of ENGINE for ENTRY to be there; before equals after if
// nothing is. Fails as the engine's own function does, and where the file cannot be read;
// kUnsupported where the engine could not start the program, or its file is written by another one.
base::Result<FileEdit> plan_configure(Engine engine, const std::string& path,
                                      const RuntimeEntry& entry);
// What is to change for the runtime NAME not to be there: the very text from before the entry was
// added where nobody changed the file since; else at least the default runtime from before.
base::Result<FileEdit> plan_unconfigure(Engine engine, const std::string& path,
                                        const std::string& name);

// What keeps the runtime from having an effect although PATH names it, as one line; empty: nothing.
base::Result<std::string> find_hindrance(Engine engine, const std::string& path);

// What stands in the file PATH.
base::Result<Registered> find_runtime(Engine engine, const std::string& path,
                                      const std::string& name);

}  // namespace hook::engines
