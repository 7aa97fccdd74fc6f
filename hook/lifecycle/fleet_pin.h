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
// another fleet, which is gone; as LedgerHost::check_in() if it left this one; otherwise as
// fleet::join_fleet().
base::Status join_known_fleet(ledger::Ledger& ledger, fleet::Store& store,
                              const std::string& prefix, const base::Deadline& deadline);
// Fails so. Makes and remembers nothing.
base::Status check_known_fleet(ledger::Ledger& ledger, fleet::Store& store,
                               const std::string& prefix, const base::Deadline& deadline);

}  // namespace hook::lifecycle
