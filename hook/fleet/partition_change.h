// SPDX-License-Identifier: Apache-2.0
// How the record of a partition, and its claims, change in the store.
#pragma once

#include <functional>

#include "base/result.h"
#include "hook/fleet/partitions.h"
#include "hook/fleet/store.h"

namespace hook::fleet {

[[nodiscard]] base::Error not_there(const PartitionName& name);
// Returns that the record of VIEW is as it was read.
[[nodiscard]] Compare as_seen(const Fleet& fleet, const PartitionView& view);
[[nodiscard]] Put put_of(const Fleet& fleet, const PartitionView& view);
[[nodiscard]] Put put_of(const Fleet& fleet, const PartitionName& name, const Claim& claim);
// Returns the claim ID of the partition, if it has it.
[[nodiscard]] const Claim* find_claim(const PartitionView& view, const std::string& id);
// Returns whether two claims have a GCD in common.
[[nodiscard]] bool overlap(const Claim& a, const Claim& b);
// Fails if RESULT found that the host of the change was declared dead.
base::Status check_fences(const Fleet& fleet, const TxnResult& result);

using PartitionChange = std::function<base::Result<Txn>(PartitionView& view)>;
// Commits what MAKE makes of the partition, again while others change it. MAKE is called with what
// is there; a transaction without changes is not committed. Fails with kNotFound if there is no
// such partition.
base::Status change(const Fleet& fleet, const PartitionName& name, const PartitionChange& make);
// Returns DONE, but success if there is no such partition.
base::Status if_there(base::Status done);

}  // namespace hook::fleet
