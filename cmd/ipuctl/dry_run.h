// SPDX-License-Identifier: Apache-2.0
// A preview of a creation.
#pragma once

#include "base/result.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/print.h"
#include "hook/lifecycle/partitions/partitions.h"

namespace ipuctl {

// Reports what WANTED would ask of its pool, and whether there is room now: if not, kBusy is among
// the obstacles. Changes nothing.
base::Result<Outcome> dry_run(const hook::lifecycle::partitions::NewPartition& wanted,
                              Output output);

}  // namespace ipuctl
