// SPDX-License-Identifier: Apache-2.0
// The border of the host (netns/border.h), as the leases need it. It is an effect of each lease
// that has macvlans. One process of the host at a time changes it.
#pragma once

#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/container/plan/orders.h"
#include "hook/lifecycle/env.h"
#include "netns/namespace.h"
#include "netns/types.h"

namespace hook::lifecycle::network {

// Lets the macvlans of PLAN, which LEASE has in its namespace, pass the border. Makes the border,
// with all live leases, if it does not stand as ORDERS say. Does nothing where ORDERS want no
// border, or want it only if the kernel can and the kernel cannot. Returns kBusy if the name of a
// parent has passed to another interface while containers of its rail run.
base::Status open_border(Env& env, const ledger::Lease& lease, const plan::AttachOrders& orders,
                         const netns::NetworkPlan& plan, const netns::Namespace& host,
                         const base::Deadline& deadline);

// Takes from the interfaces of LEASE what PLAN, the plan of those who still share them, does not
// need; everything if PLAN has no rails. The border goes with the last interface. An absent border
// is not an error.
base::Status close_border(Env& env, const ledger::Lease& lease, const netns::NetworkPlan& plan,
                          const netns::Namespace& host, const base::Deadline& deadline);

// Returns whether the border lets an interface of LEASE pass.
base::Result<netns::Presence> find_in_border(const ledger::Lease& lease,
                                             const netns::Namespace& host);

// Makes the border again if a lease that was attached needs it and it does not stand, as after `nft
// flush ruleset`. Removes what belongs to no live lease, if this process may list a border by tc
// (CAP_SYS_ADMIN). Does nothing unless env.is_only_ledger.
// Returns whether anything was changed.
enum class Mended { kNo, kYes };
base::Result<Mended> mend_border(Env& env, const base::Deadline& deadline);

}  // namespace hook::lifecycle::network
