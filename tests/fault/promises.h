// SPDX-License-Identifier: Apache-2.0
// What programs promise by exit status 0. Each says what is wrong; empty: nothing.
#pragma once

#include <string>

#include "base/result.h"
#include "tests/fault/world.h"

namespace fault {

// Container NAME has an ALLOCATED lease with a partition and files, its bundle leads to it, and the
// low-level runtime was called.
base::Result<std::string> check_created(World& world, const std::string& name);

// The same, or the lease was given back since: the stand-in for a low-level runtime ends at once,
// and a reconciler that runs beside and is slow finds that nobody starts the container any more.
base::Result<std::string> check_created_or_given_up(World& world, const std::string& name);

// Container NAME has a RUNNING lease, and roce0 is up in its namespace.
base::Result<std::string> check_attached(World& world, const std::string& name);

// The newest lease of container NAME is on its way back, or gone.
base::Result<std::string> check_released(World& world, const std::string& name);
// Poststop came while the container's first process lives: if the release is cut short, the lease
// is still the container's.
base::Result<std::string> check_released_or_runs(World& world, const std::string& name);

// The newest lease of container NAME has ended, and its partition and files are gone.
base::Result<std::string> check_gone(World& world, const std::string& name);

// The partition NAME is there, and READY in the ledger; or neither.
base::Result<std::string> check_partition_ready(World& world, const std::string& name);
base::Result<std::string> check_partition_gone(World& world, const std::string& name);

}  // namespace fault
