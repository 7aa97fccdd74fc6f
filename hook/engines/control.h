// SPDX-License-Identifier: Apache-2.0
// Making a change of an engine's file take effect: the engine's own checker before, a reload and a
// question to the engine after.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "hook/engines/engine.h"

namespace hook {

// The absolute path of a program of the host, in the directories that root's PATH has and in that
// of snaps; kNotFound if it is in none.
base::Result<std::string> find_program(std::string_view name);

// Asks the engine's own checker about TEXT: `dockerd --validate` where it has that (from 23.0),
// `containerd config dump`. Engines without one are not asked. kInvalid with what it says.
base::Status check_text(Engine engine, const std::string& text, const base::Deadline& deadline);

enum class Reload {
  kDone,     // the daemon was told to
  kNone,     // nothing runs that has to be told
  kRestart,  // it takes a restart
};
// Tells each of DAEMONS to read its file again.
base::Result<Reload> reload(Engine engine, const std::vector<Daemon>& daemons);

enum class Listed { kYes, kNo, kUnknown };
// Whether the engine itself knows the runtime NAME, by asking docker or podman; of containerd and
// CRI-O, whether they started after PATH was written.
base::Result<Listed> is_listed(Engine engine, const std::vector<Daemon>& daemons,
                               const std::string& path, const std::string& name,
                               const base::Deadline& deadline);

}  // namespace hook
