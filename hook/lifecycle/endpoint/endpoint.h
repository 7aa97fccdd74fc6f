// SPDX-License-Identifier: Apache-2.0
// The V-IPU endpoint of a container: a process that answers in its network namespace what a
// controller would answer about its own partition. For Graphcore's tools, which ask a controller.
#pragma once

#include "base/clock.h"
#include "base/process.h"
#include "base/result.h"
#include "hook/lifecycle/env.h"
#include "netns/types.h"
#include "vipu/answers.h"

namespace hook::lifecycle::endpoint {

// Returns what the endpoint of LEASE answers. GCDS are those of the lease, which are all of its
// partition. Returns kUnsupported if the partition has others.
base::Result<vipu::Answers> ask_answers(vipu::Controller& controller, const ledger::Lease& lease,
                                        const std::vector<vipu::IpuofConfig>& gcds,
                                        const base::Deadline& deadline);

// Starts the endpoint of LEASE, if its files have answers for one, in the namespace of INIT, the
// container's first process, with which it ends. It is in the ledger before its program runs. After
// an error none runs.
base::Status start_endpoint(Env& env, const ledger::Lease& lease, const base::ProcessId& init,
                            const base::Deadline& deadline);

// Replaces the answers of a running lease that has an endpoint, and starts that again.
base::Status replace_answers(Env& env, vipu::Controller& controller, const ledger::Lease& lease,
                             const std::vector<vipu::IpuofConfig>& gcds,
                             const base::Deadline& deadline);

// Returns whether the endpoint of LEASE runs.
base::Result<netns::Presence> find_endpoint(Env& env, const ledger::Lease& lease,
                                            const base::Deadline& deadline);

// Ends the endpoint of LEASE; succeeds if there is none.
base::Status end_endpoint(Env& env, const ledger::Lease& lease, const base::Deadline& deadline);

}  // namespace hook::lifecycle::endpoint
