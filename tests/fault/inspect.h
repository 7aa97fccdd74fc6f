// SPDX-License-Identifier: Apache-2.0
// What must be true of the host after a run, whatever cut it short.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "tests/fault/tracer.h"
#include "tests/fault/world.h"

namespace fault {

struct Findings {
  std::vector<std::string> violations;
  // Temporary files that a killed program left in a bundle. The bundle is the engine's, which
  // deletes it with the container: nobody else may.
  size_t left_in_bundles = 0;
  // Programs that ended themselves with SIGABRT because setns(2) failed: one that cannot go back to
  // the host's namespace must not go on. What they leave is looked at as ever.
  size_t aborts = 0;
};

// At once: the ledger, or the fleet to the partitions IN_FLEET, leads to everything that is there.
// The ledger is sound, nobody holds what another one holds, and the bystander has noticed nothing.
base::Status inspect_invariants(World& world, const std::set<std::string>& in_fleet,
                                Findings& findings);

// How the program itself ended: within its time, by no crash, and after a failure with one line.
void inspect_end(const Trace& trace, Findings& findings);

// After containers have ended and one gc: nothing is left but the bystander, and partitions that
// the ledger, or those that the fleet, keeps ready. KILLED: the run was cut by SIGKILL.
base::Status inspect_rest(World& world, const std::set<std::string>& in_fleet, bool killed,
                          Findings& findings);

}  // namespace fault
