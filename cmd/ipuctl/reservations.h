// SPDX-License-Identifier: Apache-2.0
// The reservations of this host, as the commands find and end them.
#pragma once

#include <string>

#include "base/result.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/viewer.h"
#include "hook/ledger/ledger.h"

namespace ipuctl {

// Returns the reservation NAME of POOL, empty: of any, if VIEWER may use and change it.
base::Result<hook::ledger::PartitionRecord> get_reservation(const Viewer& viewer,
                                                            hook::ledger::Ledger& ledger,
                                                            const std::string& name,
                                                            const std::string& pool);

// Records that VIEWER, if it is a user, DID something ("ends") to RESERVATION. The history names
// root as the actor of what ipu-agent does, so it gets the user's part, too.
base::Status note_user(const Viewer& viewer, hook::ledger::Ledger& ledger, const char* did,
                       const std::string& reservation);

// Which reservations end.
struct Ending {
  std::string name;
  std::string owner;   // instead of the name: all of this owner, of whom there may be none
  std::string pool;    // of this pool alone; empty: of all
  bool force = false;  // also while a container has one
};
// Ends them, and prints what has ended. One that cannot end keeps no other one of an owner.
base::Result<Outcome> end_reservations(const Viewer& viewer, const Ending& which, Output output);

}  // namespace ipuctl
