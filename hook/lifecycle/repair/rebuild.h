// SPDX-License-Identifier: Apache-2.0
// Replaces a damaged ledger with a new one, built from its readable parts, the records beside the
// leases' files, the kernel and the controllers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::repair {

enum class DryRun { kNo, kYes };
enum class Unclaimed {
  kReport,  // unclaimed partitions with our names may be another host's
  kClaim,   // unclaimed partitions are leftovers of this host
};

struct Rebuild {
  std::string ledger;
  std::string run_dir;
  std::string engines_dir = "/run";         // engines keep their containers below it
  std::vector<config::PoolConfig> pools;    // their controllers are asked
  ledger::HostWitnesses host = {};          // this host
  std::function<Env(ledger::Ledger&)> env;  // makes the Env of the new ledger
  DryRun dry_run = DryRun::kNo;
  Unclaimed unclaimed = Unclaimed::kReport;
  bool force = false;  // rebuilds also a ledger that is whole
};

struct Rebuilt {
  std::vector<ledger::Lease> running;
  std::vector<ledger::Lease> ended;  // reconcile() will release them
  std::vector<ledger::PartitionRecord> partitions;
  std::vector<std::string> notes;  // what is unknown, and what to do; one line each
  std::string set_aside;           // path of the old database; empty: there was none, or a dry run
};

// Rebuilds the ledger. Of a ledger that is another host's, only what runs here stays: the rest is
// that host's. Touches no running container and removes nothing; the old files get other
// names. Keeps what stays unknown because a controller does not answer. Fails with kInvalid if the
// ledger is whole, kBusy if another rebuild or a writer is active. After a failure the old ledger
// is in place.
//
// If an earlier rebuild was killed before only its last step, finishes that one and does no more.
// See ledger::Rebuilder for what keeps other programs out meanwhile.
base::Result<Rebuilt> rebuild_ledger(const Rebuild& rebuild, const base::Deadline& deadline);

}  // namespace hook::lifecycle::repair
