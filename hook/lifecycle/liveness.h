// SPDX-License-Identifier: Apache-2.0
// Whether the processes that a lease is there for still run: evidence, and what follows from it.
// Whoever is in doubt leaves the lease alone: a container that runs must lose nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/process.h"
#include "base/result.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle {

enum class Life {
  kRuns,
  kEnded,
  kUnknown,  // it cannot be judged from here, and counts as one that runs
};

enum class Seen {
  kYes,
  kNo,
  kHidden,  // it cannot be looked at from here
};

struct Evidence {
  bool same_boot = true;           // as when the lease began
  bool same_pid_namespace = true;  // as that in which its owner has its pid
  Seen owner = Seen::kNo;          // runs, that very process
  // Of a lease that was RUNNING and whose owner does not run, or is hidden:
  Seen others = Seen::kNo;  // a process of its container's cgroup, in its container's network, runs
  // The first process by the low-level runtime's own record, where that is another one than the
  // lease's owner, runs, and is in the lease's network or cgroup: it was restored from a
  // checkpoint.
  std::optional<base::ProcessId> restored = {};
};

struct Judgement {
  Life life = Life::kUnknown;
  std::string because;                       // for people: "process 12 ended, ..."
  std::optional<base::ProcessId> successor;  // to be the owner from here on
};

// What can be seen of LEASE, which is live, in the boot BOOT_ID.
[[nodiscard]] Evidence look_at_lease(const Env& env, const ledger::Lease& lease,
                                     const std::string& boot_id);

// Pure.
[[nodiscard]] Judgement judge(const ledger::Lease& lease, const Evidence& evidence);

// A process of LEASE's container that runs in its network namespace; absent if none is found.
[[nodiscard]] std::optional<pid_t> find_member(const Env& env, const ledger::Lease& lease);

// The container's first process, by what runc (state.json) or crun (status) keeps in STATE_DIR; no
// pid namespace is in it. kNotFound if there is neither file. Follows no link and reads at most 8
// MiB.
base::Result<base::ProcessId> recorded_init(const std::string& state_dir);

struct Judged {
  ledger::Lease lease;
  Judgement judgement;
};

// How the live leases are looked at.
enum class Look {
  // Each process is asked for by its pid alone, which takes less than a microsecond; a few of them,
  // others each time, are looked at in full. That a pid was taken over, or that only a zombie has
  // it, is found in one of the next looks.
  kQuick,
  kFull,  // each
};

// Leases that do not plainly run, with what became of them: fewest failed attempts first. With
// DUE_ONLY none whose time for another attempt has not come. POOL: only of this pool; empty: all.
struct Scope {
  Look look = Look::kFull;
  bool due_only = false;
  std::string pool = {};
};
base::Result<std::vector<Judged>> find_suspects(Env& env, const Scope& scope);

base::Result<Judged> judge_lease(Env& env, ledger::Lease lease);  // a live one
// All live leases, judged.
base::Result<std::vector<Judged>> judge_all(Env& env);

}  // namespace hook::lifecycle
