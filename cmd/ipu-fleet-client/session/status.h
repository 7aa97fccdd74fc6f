// SPDX-License-Identifier: Apache-2.0
// What a failed call of etcd means, for people and programs.
#pragma once

#include "base/result.h"
#include "cmd/common/rpc/transport/rpc_status.h"

namespace fleet_client {

// Returns the error of STATUS, with what to do. kNotFound: the lease has ended, or the revision is
// compacted. kDenied: the user, its password, or what it may do. kBusy: the store is full.
// kUnavailable: the member cannot serve now. kInvalid: this is no etcd, or it refuses the request.
base::Error to_error(const transport::RpcStatus& status);

}  // namespace fleet_client
