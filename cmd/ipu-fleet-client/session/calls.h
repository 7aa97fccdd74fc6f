// SPDX-License-Identifier: Apache-2.0
// The calls of the store, each over as many RPCs of etcd as necessary. None knows what a key means.
#pragma once

#include "base/result.h"
#include "cmd/ipu-fleet-client/session/connection.h"
#include "hook/fleet/wire/values.h"

namespace fleet_client {

// Carries TXN out, or finds out what is in the way.
base::Result<hook::fleet::TxnResult> run_txn(Connection& connection, const hook::fleet::Txn& txn);
// Returns all keys below PREFIX. Returns kInvalid if a value is not a text, or if they are longer
// than a reply may be.
base::Result<hook::fleet::Listing> read_range(Connection& connection, const std::string& prefix);
// Waits for changes below PREFIX from REVISION on, at most until the deadline. Returns kNotFound if
// the store has forgotten that revision.
base::Result<hook::fleet::Changes> await_change(Connection& connection, const std::string& prefix,
                                                int64_t revision);
base::Result<hook::fleet::Lease> grant_lease(Connection& connection, uint32_t ttl_s);
// Returns kNotFound if the lease has ended.
base::Result<hook::fleet::Lease> keep_lease(Connection& connection, int64_t lease);
// A lease that has ended counts as revoked.
base::Status revoke_lease(Connection& connection, int64_t lease);

}  // namespace fleet_client
