// SPDX-License-Identifier: Apache-2.0
// Whose partition is it that a controller has by a name of ours? A name that the toolkit gave is
// random and names this host. A name that a person gave may be given on another host as well.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "hook/lifecycle/env.h"
#include "vipu/made_name.h"

namespace hook::lifecycle::partitions {

// Returns a new name for a partition of this host.
base::Result<std::string> random_name(const Env& env, vipu::MadeFor what);

// Returns whether a process holds RECORD, in this boot: it does while it makes or removes the
// partition.
[[nodiscard]] bool is_held(const ledger::PartitionRecord& record, const std::string& boot);

// Returns whether a partition that a controller has by the name of RECORD may be another host's,
// once a request about it was cut short. Nothing is done to it then unless a person says so.
[[nodiscard]] bool may_be_of_others(const ledger::PartitionRecord& record);

// What becomes of the RECORD of such a partition after a request was cut short. Ended: the
// controller has no partition of that name, and no request can make it any more; or it has one that
// is unlike the record, so it is another's.
enum class Unsure { kEnded, kMayCome };
// Fails with kBusy, with what a person can do, while the controller has a partition of that name.
base::Result<Unsure> look_for(vipu::Controller& controller, const ledger::PartitionRecord& record,
                              const base::Deadline& deadline);

}  // namespace hook::lifecycle::partitions
