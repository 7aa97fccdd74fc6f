// SPDX-License-Identifier: Apache-2.0
// A new ledger in place of a damaged one, from what can be read of that, from the records beside
// the leases' files, from the kernel and from the controllers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "hook/lifecycle/env.h"

namespace hook {

enum class DryRun { kNo, kYes };
enum class Unclaimed {
  kReport,  // partitions with names of ours that nobody claims may be another host's
  kClaim,   // they are leftovers of this host
};

struct Rebuild {
  std::string ledger;
  std::string run_dir;
  std::string engines_dir = "/run";  // below which engines keep their containers
  std::vector<PoolConfig> pools;     // whose controllers are asked
  std::function<Env(Ledger&)> env;   // to work with the new ledger
  DryRun dry_run = DryRun::kNo;
  Unclaimed unclaimed = Unclaimed::kReport;
  bool force = false;  // also one that is whole
};

struct Rebuilt {
  std::vector<Lease> running;
  std::vector<Lease> ended;  // to be released by reconcile()
  std::vector<PartitionRecord> partitions;
  std::vector<std::string> notes;  // what could not be told, and what to do; one line each
  std::string set_aside;           // the old database; empty: there was none, or a dry run
};

// Containers that run are not touched, nothing is removed; the old files get other names. What
// stays unknown because a controller does not answer is kept. kInvalid if the ledger is whole;
// kBusy if another rebuild or a writer is in the way. After a failure the old ledger is in place.
//
// No double grant: Gate keeps others from opening the ledger meanwhile; those that have it open are
// held by WritersFence until it is moved, and then refused by sqlite::Transaction. One that was
// killed when all but the last step was done is finished by the next, which then does no more.
base::Result<Rebuilt> rebuild_ledger(const Rebuild& rebuild, const base::Deadline& deadline);

// Removes what a rebuild of LEDGER left that was killed; kBusy while one is at work.
base::Status remove_earlier_rebuild(const std::string& ledger);

}  // namespace hook
