// SPDX-License-Identifier: Apache-2.0
// The names by which users know containers and leases.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "hook/ledger/ledger.h"
#include "hook/ledger/queue.h"

namespace ipuctl {

// The name of each container, by its id; a container without a known name is absent.
using Names = std::map<std::string, std::string>;
[[nodiscard]] Names names_of(const std::vector<hook::ledger::Lease>& leases);
[[nodiscard]] Names names_of(const std::vector<hook::ledger::Waiter>& waiters);
[[nodiscard]] std::string name_in(const Names& names, const std::string& container);  // or empty

// Returns the lease that TEXT means: the id of a lease or a container, or the beginning of one, or
// the name of a container that holds a lease. Fails as Ledger::get() does, and with kInvalid if
// several containers have the name.
base::Result<hook::ledger::Lease> find_lease(hook::ledger::Ledger& ledger, const std::string& text);

// Returns the waiters whose container TEXT means, in the same way; kNotFound if none waits.
base::Result<std::vector<hook::ledger::Waiter>> find_waiters(
    std::vector<hook::ledger::Waiter> waiters, const std::string& text);

}  // namespace ipuctl
