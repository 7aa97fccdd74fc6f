// SPDX-License-Identifier: Apache-2.0
// Collects what is known of leases when the ledger is lost, and decides what of it is true.
#pragma once

#include <string>
#include <vector>

#include "hook/ledger/rebuilder.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/repair/engine_containers.h"

namespace hook::lifecycle::repair {

struct Claims {
  std::vector<ledger::Lease> running;  // not ended, according to judge() or the engine
  std::vector<ledger::Lease> ended;    // RELEASING: what they may hold must be released
  std::vector<ledger::PartitionRecord> partitions;
  std::vector<EngineContainer> unknown;  // running containers of whose lease nothing else is known
  std::vector<std::string> notes;        // one line each, for people
};

// Takes the newer of each salvaged lease and the record beside its files. A running container's
// lease is in RUNNING whatever the old ledger said, also if only its engine names a process in the
// lease's network namespace. Each partition has one holder, which runs if any of its leases does.
base::Result<Claims> judge_claims(Env& env, ledger::Salvaged salvaged,
                                  const std::vector<EngineContainer>& engines);

}  // namespace hook::lifecycle::repair
