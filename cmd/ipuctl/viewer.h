// SPDX-License-Identifier: Apache-2.0
// Who sees what ipuctl shows: root, or a user without root for whom ipu-agent runs ipuctl. Such a
// user sees the sizes and states of everything, and the names of what is theirs:
//
// - reservations that they made, by the uid that the kernel told ipu-agent,
// - containers that use these reservations,
// - containers that they started or that wait for them, by the kernel's record of who logged in
//   (loginuid), which sudo does not change.
// All of this is of this host: another host of a fleet may know other users by the same uids.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/ipuctl/print_lease.h"
#include "hook/config/config.h"
#include "hook/ledger/ledger.h"

namespace ipuctl {

class Viewer {
 public:
  Viewer() = default;  // root at a terminal
  // Whoever ipu-agent runs ipuctl for; uid 0 sees and may do all. Output goes to ipu-agent's user
  // as lines of JSON.
  static Viewer of_agent(uid_t uid);

  [[nodiscard]] bool is_by_agent() const { return by_agent_; }
  // Returns the user, if it is not root.
  [[nodiscard]] std::optional<uid_t> user() const { return user_; }
  [[nodiscard]] bool sees_all() const { return !user_ || policy_.show_others; }
  [[nodiscard]] const hook::config::AgentConfig& policy() const { return policy_; }

  // Returns whether it is theirs; everything is root's.
  [[nodiscard]] bool owns(const hook::ledger::PartitionRecord& reservation) const;
  [[nodiscard]] bool owns(const hook::ledger::Waiter& waiter) const;
  base::Result<bool> owns(hook::ledger::Ledger& ledger, const hook::ledger::Lease& lease) const;

  // Removes from WAITERS those that are not theirs.
  base::Status keep_own(hook::ledger::Ledger& ledger,
                        std::vector<hook::ledger::Waiter>& waiters) const;

  // Takes away what this viewer may not see: the names of others become "other-1" and so on.
  base::Status hide_others(hook::ledger::Ledger& ledger, Overview& overview) const;

  // Shows one line while a command goes on.
  void tell(const std::string& line) const;

 private:
  bool by_agent_ = false;
  std::optional<uid_t> user_;
  hook::config::AgentConfig policy_;
};

// Returns the lease that TEXT means, as find_lease() does, among those of VIEWER.
base::Result<hook::ledger::Lease> find_lease_of(const Viewer& viewer, hook::ledger::Ledger& ledger,
                                                const std::string& text);

}  // namespace ipuctl
