// SPDX-License-Identifier: Apache-2.0
// What is known of leases when the ledger is lost, and what of it is true.
#pragma once

#include <string>
#include <vector>

#include "hook/ledger/salvage.h"
#include "hook/lifecycle/engines.h"
#include "hook/lifecycle/env.h"

namespace hook {

struct Claims {
  std::vector<Lease> running;  // not ended, by judge() or by the word of the engine
  std::vector<Lease> ended;    // RELEASING: they may hold something, which is to be given back
  std::vector<PartitionRecord> partitions;
  std::vector<EngineContainer> unknown;  // run with a lease of which nothing else is known
  std::vector<std::string> notes;        // one line each, for people
};

// Of what was salvaged and the records beside the leases' files, of each lease what is newer. A
// container that runs is among the running ones whatever the old ledger said, also by the word of
// its engine if that names a process in the lease's network namespace. Each partition
// has one holder, which runs if one of those that use it does.
base::Result<Claims> judge_claims(Env& env, Salvaged salvaged,
                                  const std::vector<EngineContainer>& engines);

}  // namespace hook
