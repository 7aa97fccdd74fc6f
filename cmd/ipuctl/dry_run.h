// SPDX-License-Identifier: Apache-2.0
// What a creation would do.
#pragma once

#include "base/result.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/print.h"
#include "hook/lifecycle/partitions/partitions.h"

namespace ipuctl {

// Says what WANTED would ask of its pool, and whether there is room for it now: kBusy among the
// obstacles if there is not. Changes nothing.
base::Result<Outcome> dry_run(const hook::lifecycle::partitions::NewPartition& wanted,
                              Output output);

}  // namespace ipuctl
