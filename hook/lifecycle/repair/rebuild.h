// SPDX-License-Identifier: Apache-2.0
// A new ledger in place of a damaged one, from what can be read of that, from the records beside
// the leases' files, from the kernel and from the controllers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::repair {

enum class DryRun { kNo, kYes };
enum class Unclaimed {
  kReport,  // partitions with names of ours that nobody claims may be another host's
  kClaim,   // they are leftovers of this host
};

struct Rebuild {
  std::string ledger;
  std::string run_dir;
  std::string engines_dir = "/run";         // below which engines keep their containers
  std::vector<config::PoolConfig> pools;    // whose controllers are asked
  std::function<Env(ledger::Ledger&)> env;  // to work with the new ledger
  DryRun dry_run = DryRun::kNo;
  Unclaimed unclaimed = Unclaimed::kReport;
  bool force = false;  // also one that is whole
};

struct Rebuilt {
  std::vector<ledger::Lease> running;
  std::vector<ledger::Lease> ended;  // to be released by reconcile()
  std::vector<ledger::PartitionRecord> partitions;
  std::vector<std::string> notes;  // what could not be told, and what to do; one line each
  std::string set_aside;           // the old database; empty: there was none, or a dry run
};

// Containers that run are not touched, nothing is removed; the old files get other names. What
// stays unknown because a controller does not answer is kept. kInvalid if the ledger is whole;
// kBusy if another rebuild or a writer is in the way. After a failure the old ledger is in place.
//
// One that was killed when all but the last step was done is finished by the next, which then does
// no more. See ledger::Rebuilder for what keeps other programs out meanwhile.
base::Result<Rebuilt> rebuild_ledger(const Rebuild& rebuild, const base::Deadline& deadline);

}  // namespace hook::lifecycle::repair
