// SPDX-License-Identifier: Apache-2.0
// What is known of leases when the ledger is lost, and what of it is true.
#pragma once

#include <string>
#include <vector>

#include "hook/ledger/rebuilder.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/repair/engine_containers.h"

namespace hook::lifecycle::repair {

struct Claims {
  std::vector<ledger::Lease> running;  // not ended, by judge() or by the word of the engine
  std::vector<ledger::Lease>
      ended;  // RELEASING: they may hold something, which is to be given back
  std::vector<ledger::PartitionRecord> partitions;
  std::vector<EngineContainer> unknown;  // run with a lease of which nothing else is known
  std::vector<std::string> notes;        // one line each, for people
};

// Of what was salvaged and the records beside the leases' files, of each lease what is newer. A
// container that runs is among the running ones whatever the old ledger said, also by the word of
// its engine if that names a process in the lease's network namespace. Each partition
// has one holder, which runs if one of those that use it does.
base::Result<Claims> judge_claims(Env& env, ledger::Salvaged salvaged,
                                  const std::vector<EngineContainer>& engines);

}  // namespace hook::lifecycle::repair
