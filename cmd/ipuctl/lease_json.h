// SPDX-License-Identifier: Apache-2.0
// A lease as JSON, the same in every command that shows leases.
#pragma once

#include "base/json.h"
#include "hook/ledger/lease.h"

namespace ipuctl {

[[nodiscard]] base::Json lease_json(const hook::ledger::Lease& lease);

}  // namespace ipuctl
