// SPDX-License-Identifier: Apache-2.0
// The effects of a lease outside the ledger as one table: how to find each, and how to undo it.
#pragma once

#include <array>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/partitions/fleet_warm.h"
#include "netns/types.h"

namespace hook::lifecycle::end {

using netns::Presence;

struct Effect {
  std::string_view name;  // "interfaces"
  // Returns whether LEASE can have the effect at all, according to the ledger.
  bool (*may_have)(const ledger::Lease& lease);
  // Returns whether the effect exists now. An error: this cannot be determined from here, or not
  // now.
  base::Result<Presence> (*probe)(Env& env, const ledger::Lease& lease,
                                  const base::Deadline& deadline);
  // Removes the effect; succeeds also if it is gone already. Keeps what other leases share while
  // they do.
  base::Status (*undo)(Env& env, const ledger::Lease& lease, const base::Deadline& deadline);
  // The effects that must be gone before this one may be undone; empty: none.
  std::array<std::string_view, 2> after;
};

// Returns the effects in the order in which they are undone. The endpoint comes first, because its
// socket keeps the namespace alive; then the interfaces. The
// partition follows, because its IPUs must not go to another container while the interfaces still
// reach them. The claim at a fleet is next: others may have the GCDs then, and a tenant's share has
// room again, so it waits for both. The files come last.
[[nodiscard]] std::span<const Effect> effects();

// Counterparts that did not answer: controllers by source_of(), and fleets.
using Silent = std::set<std::string>;
// Returns whom EFFECT of LEASE needs an answer of; empty: nobody.
[[nodiscard]] std::string counterpart(const Effect& effect, const ledger::Lease& lease);
// Asks COUNTERPART, empty: nobody, unless it was silent for another lease.
base::Status ask(const std::string& counterpart, Silent& silent,
                 const std::function<base::Status()>& question);
// Asks the fleet whether another container has the partition of LEASE, which then stays. The
// fleet may be silent while the controller answers, and the other way round.
base::Result<bool> is_anothers(const Env& env, const ledger::Lease& lease, partitions::Asks asks,
                               const base::Deadline& deadline, Silent& silent);

inline constexpr std::string_view kEndpoint = "V-IPU endpoint";
inline constexpr std::string_view kInterfaces = "interfaces";
inline constexpr std::string_view kPartition = "partition";
inline constexpr std::string_view kClaim = "claim";
inline constexpr std::string_view kFiles = "files";

}  // namespace hook::lifecycle::end
