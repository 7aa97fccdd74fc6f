// SPDX-License-Identifier: Apache-2.0
// The fleet that a host has joined stays the same: an etcd that lost its data is not a new fleet.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "hook/fleet/store.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle {

// Joins the fleet below PREFIX, and makes it if there is none and this host never joined one there.
// The ledger remembers its id. Fails with kNotFound, with what to do, if this host had joined
// another fleet, which is gone; as check_not_left(); otherwise as fleet::join_fleet().
base::Status join_known_fleet(ledger::Ledger& ledger, fleet::Store& store,
                              const std::string& prefix, const base::Deadline& deadline);
// Fails with kDenied, and says what to do, if this host left fleet ID below PREFIX, or leaves it.
base::Status check_not_left(ledger::Ledger& ledger, const std::string& prefix,
                            const std::string& id);
// Returns whether this host left the fleet below PREFIX, or leaves it, and joined no other one
// there since: it changes nothing of the fleet's.
base::Result<bool> has_left(ledger::Ledger& ledger, const std::string& prefix);
// Fails so. Makes and remembers nothing.
base::Status check_known_fleet(ledger::Ledger& ledger, fleet::Store& store,
                               const std::string& prefix, const base::Deadline& deadline);

}  // namespace hook::lifecycle
