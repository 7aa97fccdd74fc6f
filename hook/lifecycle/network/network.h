// SPDX-License-Identifier: Apache-2.0
// The interfaces of a lease in the network namespace of its container, which several leases may
// share: a pod's, or one that --net=container: names.
#pragma once

#include <functional>

#include "base/clock.h"
#include "base/process.h"
#include "base/result.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::network {

// Attaches the rails of LEASE in the namespace of process INIT, held by this process meanwhile:
// makes the interfaces, or adds the lease's peers to those that are there, and waits until the RoCE
// v2 GID of each address is in its RNIC's table; lease.json then has its index. An address that
// another host answers for is noted and refused (kExists).
base::Status connect_lease(Env& env, ledger::Lease& lease, const base::ProcessId& init,
                           const base::Deadline& deadline);

enum class Connected { kYes, kNo };

// Makes CHANGE while nobody can take away the interfaces that connect_lease() made, if they are
// there still: who shares them and ends knows of a lease that runs only.
base::Result<Connected> if_connected(Env& env, const ledger::Lease& lease,
                                     const base::Deadline& deadline,
                                     const std::function<base::Status()>& change);

// The opposite, for a lease that is being released. Interfaces that other leases share stay,
// without this lease's peers; of the last one they are removed, and functions go back to the host.
base::Status disconnect_lease(Env& env, const ledger::Lease& lease, const base::Deadline& deadline);

// Whether one of the lease's interfaces is there.
base::Result<netns::Presence> find_interfaces(Env& env, const ledger::Lease& lease,
                                              const base::Deadline& deadline);

enum class Refreshed { kSame, kMoved };

// Where the IPUs of a running lease are now, by its controller: after the controller has relocated
// the partition, routes, filter, the ledger and the container's ipuof.conf follow.
base::Result<Refreshed> refresh_lease(Env& env, ledger::Lease& lease,
                                      const base::Deadline& deadline);

}  // namespace hook::lifecycle::network
