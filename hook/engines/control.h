// SPDX-License-Identifier: Apache-2.0
// Applying a change of an engine's file: the engine's own checker before, a reload after.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "hook/engines/engine.h"

namespace hook::engines {

// Passes the result of EDIT to the engine's own checker: `dockerd --validate` if it has that (from
// 23.0), or `containerd config dump`, which must show the handler WANTED. Templates, and engines
// without a checker, are not checked. The text is in a temporary file of the same directory,
// because imports are relative to it; the file is removed afterwards, even after a signal. Returns
// kInvalid with the checker's message, and else a note for the user, which is empty if there is
// nothing to say.
base::Result<std::string> check_edit(Engine engine, const FileEdit& edit,
                                     const std::optional<RuntimeEntry>& wanted,
                                     const base::Deadline& deadline);

enum class Reload {
  kDone,     // the daemon was told to reload
  kNone,     // no running daemon has to reload
  kRestart,  // a restart is necessary
};
// Tells each of DAEMONS to read its file again.
base::Result<Reload> reload(Engine engine, const std::vector<Daemon>& daemons);

}  // namespace hook::engines
