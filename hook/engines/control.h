// SPDX-License-Identifier: Apache-2.0
// Making a change of an engine's file take effect: the engine's own checker before, a reload after.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "hook/engines/engine.h"

namespace hook::engines {

// Asks the engine's own checker about what EDIT makes of its file: `dockerd --validate` where it
// has that (from 23.0), `containerd config dump`, which must have the handler WANTED; not a
// template. Engines without one are not asked. The text is in a file of its own in the same
// directory meanwhile, as imports are relative to it; that is gone after, also when a signal came.
// kInvalid with what the checker says.
base::Status check_edit(Engine engine, const FileEdit& edit,
                        const std::optional<RuntimeEntry>& wanted, const base::Deadline& deadline);

enum class Reload {
  kDone,     // the daemon was told to
  kNone,     // nothing runs that has to be told
  kRestart,  // it takes a restart
};
// Tells each of DAEMONS to read its file again.
base::Result<Reload> reload(Engine engine, const std::vector<Daemon>& daemons);

}  // namespace hook::engines
