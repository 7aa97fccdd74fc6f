// SPDX-License-Identifier: Apache-2.0
// Judges whether the processes of a lease still run: collects evidence and draws the conclusion. In
// doubt, the lease is left alone: a running container must lose nothing.
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
  kUnknown,  // it cannot be judged from here, and is treated as running
};

enum class Seen {
  kYes,
  kNo,
  kHidden,  // it cannot be examined from here
};

struct Evidence {
  bool same_boot = true;           // the lease began in this boot
  bool same_pid_namespace = true;  // this process is in the pid namespace of the owner's pid
  Seen owner = Seen::kNo;          // whether that very process runs
  // The fields below are set only for a RUNNING lease whose owner does not run or is hidden.
  Seen others = Seen::kNo;  // whether a process of its cgroup runs in its container's network
  // A first process that was restored from a checkpoint: the low-level runtime records it instead
  // of the lease's owner, it runs, and it is in the lease's network or cgroup.
  std::optional<base::ProcessId> restored = {};
};

struct Judgement {
  Life life = Life::kUnknown;
  std::string because;                       // for people: "process 12 ended, ..."
  std::optional<base::ProcessId> successor;  // the process to be the owner from here on
};

// Returns the evidence on LEASE, which is live, in the boot BOOT_ID.
[[nodiscard]] Evidence look_at_lease(const Env& env, const ledger::Lease& lease,
                                     const std::string& boot_id);

// Returns the conclusion from EVIDENCE. Pure.
[[nodiscard]] Judgement judge(const ledger::Lease& lease, const Evidence& evidence);

// Returns a process of LEASE's container that runs in the lease's network namespace, if one is
// found.
[[nodiscard]] std::optional<pid_t> find_member(const Env& env, const ledger::Lease& lease);

// Returns the processes in the cgroup of LEASE's container that run in the lease's network
// namespace, as far as they can be seen.
[[nodiscard]] std::vector<pid_t> find_members(const Env& env, const ledger::Lease& lease);

// Returns the container's first process as runc (state.json) or crun (status) records it in
// STATE_DIR; its pid namespace is not set. Fails with kNotFound if neither file exists. Follows no
// link and reads at most 8 MiB.
base::Result<base::ProcessId> recorded_init(const std::string& state_dir);

}  // namespace hook::lifecycle
