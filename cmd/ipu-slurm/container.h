// SPDX-License-Identifier: Apache-2.0
// The container that has a job's IPUs, from the first task on a node to the job's end.
#pragma once

#include <string>

#include "base/result.h"
#include "cmd/ipu-slurm/folder.h"
#include "cmd/ipu-slurm/job/request.h"

namespace slurm {

// Returns the orders for a task of FOLDER's job, for whose first task it starts the container.
// After an error nothing is held, unless the container was killed: then end() does the rest. The
// caller has the lock.
base::Result<std::string> enter(const Folder& folder, const Settings& settings);

// Returns the orders for a task of FOLDER's job that stays in the host's network. The caller has
// the lock.
base::Result<std::string> stay_outside(const Folder& folder);

// Ends the container, gives back all that the job had, and removes FOLDER. Running it twice is
// harmless. The caller has the lock.
base::Status end(const Folder& folder);

}  // namespace slurm
