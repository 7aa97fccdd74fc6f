// SPDX-License-Identifier: Apache-2.0
// What a lease does outside the ledger, as one table: how it is looked for, and how it is undone.
#pragma once

#include <span>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "hook/lifecycle/env.h"
#include "netns/types.h"

namespace hook::lifecycle::end {

using netns::Presence;

struct Effect {
  std::string_view name;  // "interfaces"
  // Whether a lease like LEASE can have it at all, by what the ledger says.
  bool (*may_have)(const ledger::Lease& lease);
  // Whether it is there now. An error: that cannot be told from here, or not now.
  base::Result<Presence> (*probe)(Env& env, const ledger::Lease& lease,
                                  const base::Deadline& deadline);
  // Afterwards it is gone; harmless if it was gone already. What other leases share stays as long
  // as they do.
  base::Status (*undo)(Env& env, const ledger::Lease& lease, const base::Deadline& deadline);
  // The effect that must be gone before this one may be undone; empty: none.
  std::string_view after;
};

// In the order in which they are undone: the interfaces; the partition, whose IPUs must not go to
// another container while those could still reach them; the files.
[[nodiscard]] std::span<const Effect> effects();

inline constexpr std::string_view kInterfaces = "interfaces";
inline constexpr std::string_view kPartition = "partition";
inline constexpr std::string_view kFiles = "files";

}  // namespace hook::lifecycle::end
