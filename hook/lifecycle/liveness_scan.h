// SPDX-License-Identifier: Apache-2.0
// Looks through the live leases for those that need a judgement. Each start of a container does
// this, so a thousand leases must take less than a millisecond.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/liveness.h"

namespace hook::lifecycle {

struct Judged {
  ledger::Lease lease;
  Judgement judgement;
};

// How thoroughly the live leases are examined.
enum class Look {
  // Checks each process only by its pid, in less than a microsecond, and examines a few leases in
  // full, others each time. A later look finds a pid that was reused or that only a zombie has.
  kQuick,
  kFull,  // examines each lease in full
};

// Which leases find_suspects() examines. DUE_ONLY omits those whose time for another attempt has
// not come. A POOL selects that pool's leases; empty: all pools.
struct Scope {
  Look look = Look::kFull;
  bool due_only = false;
  std::string pool = {};
};
// Returns the leases that do not plainly run, with the judgement of each. Those with the fewest
// failed attempts come first.
base::Result<std::vector<Judged>> find_suspects(Env& env, const Scope& scope);

base::Result<Judged> judge_lease(Env& env, ledger::Lease lease);  // LEASE is live
// Returns all live leases, judged.
base::Result<std::vector<Judged>> judge_all(Env& env);

}  // namespace hook::lifecycle
