// SPDX-License-Identifier: Apache-2.0
// The interfaces of a lease in the network namespace of its container. Several leases may share
// that namespace: a pod's, or one that --net=container: names.
#pragma once

#include <functional>

#include "base/clock.h"
#include "base/process.h"
#include "base/result.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::network {

// Attaches the rails of LEASE in the namespace of process INIT; this process holds the lease
// meanwhile. Makes the interfaces, or adds the lease's peers to existing ones. Waits until the RoCE
// v2 GID of each address is in its RNIC's table, and writes its index to lease.json. Records an
// address that another host answers for, and fails with kExists.
base::Status connect_lease(Env& env, ledger::Lease& lease, const base::ProcessId& init,
                           const base::Deadline& deadline);

enum class Connected { kYes, kNo };

// Makes CHANGE if the interfaces that connect_lease() made still exist, while nobody can remove
// them. Otherwise returns kNo: a lease that shares them and ends respects only leases that run.
base::Result<Connected> if_connected(Env& env, const ledger::Lease& lease,
                                     const base::Deadline& deadline,
                                     const std::function<base::Status()>& change);

// Disconnects a lease that is being released. Interfaces that other leases share stay, without this
// lease's peers. The last lease removes them and returns functions to the host.
base::Status disconnect_lease(Env& env, const ledger::Lease& lease, const base::Deadline& deadline);

// Returns whether any of the lease's interfaces exists.
base::Result<netns::Presence> find_interfaces(Env& env, const ledger::Lease& lease,
                                              const base::Deadline& deadline);

enum class Refreshed { kSame, kMoved };

// Judges where a controller says that the IPUs of a lease are now.
using CheckMoved =
    std::function<base::Status(const vipu::Grant&, const std::vector<ledger::LeasedIpu>&)>;

// Asks the controller where the IPUs of a running lease are. If it has relocated the partition,
// updates the routes, the filter, the ledger and the container's ipuof.conf (kMoved). Changes
// nothing if CHECK is set and returns an error.
base::Result<Refreshed> refresh_lease(Env& env, ledger::Lease& lease,
                                      const base::Deadline& deadline, const CheckMoved& check = {});

}  // namespace hook::lifecycle::network
