// SPDX-License-Identifier: Apache-2.0
// A host that was declared dead and lives: others may have what its containers had, so these end.
// Nothing else of this product ends a container.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::partitions {

// A container gets SIGTERM when its host is told of the fence, and SIGKILL when the host is told
// again so much later. As engines do, it has time to write a checkpoint.
inline constexpr std::chrono::seconds kFencedTime{8};

// Returns those of the LIVE leases whose containers run and from which a fence took IPUs: those
// that have claims at the fleet PREFIX, those of partitions that this host, HOST, made at
// controllers for a lease, a reservation or ahead, and those that joined one of them. Not: those of
// cards and of slices of an IPUoF file, and those of named partitions that are not the fleet's.
// None begins after a fence, so no clock decides. Pure.
[[nodiscard]] std::vector<ledger::Lease> cut_off(const std::vector<ledger::Lease>& live,
                                                 const std::string& host,
                                                 const std::string& prefix);

struct Ended {
  std::vector<std::string> containers;  // that run still, and got a signal
  std::vector<base::Error> obstacles;   // one for each that cannot be ended from here
};
// Sends SIGTERM to the first process of each container that is cut off, or SIGKILL to all of its
// processes once kFencedTime has passed at NOW_MS (unix time). If the first process is gone, all
// get both. Notes why in the history of its lease, first. Waits for none: its lease is released as
// that of any container that ends. Called until nothing is left.
base::Result<Ended> end_cut_off(Env& env, const ledger::OwnFence& fence, const std::string& prefix,
                                int64_t now_ms);

}  // namespace hook::lifecycle::partitions
