// SPDX-License-Identifier: Apache-2.0
// Whether the store of this host's fleet has gone back: see fleet/marks.h.
#pragma once

#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle {

// Marks the store of the fleet that this host has joined, and remembers the mark. If the store has
// gone back, it asks all hosts to tell what they have, notes that in the history, and adds a line
// to OBSTACLES. Adds what failed, too. Does nothing if this host has joined none.
void mark_fleet(Env& env, const base::Deadline& deadline, std::vector<base::Error>& obstacles);

}  // namespace hook::lifecycle
