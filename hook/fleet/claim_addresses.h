// SPDX-License-Identifier: Apache-2.0
// Addresses that follow from IPUs (config/scheme.h), where containers of several hosts have one
// GCD: their ledgers do not know of each other, so the claim of a container says which it has.
//
// Where each GCD has one container, the claim of the GCD gives its addresses too, and names none.
// One exception: two containers with different GCDs share interfaces, and the container whose GCD
// gave the address ends first.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "hook/fleet/partitions.h"

namespace hook::fleet {

struct HeldAddress {
  std::string address;
  Claim holder;
};

// Gives claim ID those of ADDRESSES, which its GCDs give, that no other claim has. Returns the
// others. Harmless twice. Fails with kBusy if the claim is not there any more, and while a host has
// not told since an import what it has; with kDenied if the host was fenced. After kTimeout the
// claim may have them.
base::Result<std::vector<HeldAddress>> claim_addresses(const Fleet& fleet,
                                                       const PartitionName& name,
                                                       const std::string& id,
                                                       const std::vector<std::string>& addresses);

// Removes claim ID, whose interfaces stay, with ADDRESSES: they are also those of the container
// that has the claim HEIR, which gets the addresses in the same transaction.
base::Status pass_addresses(const Fleet& fleet, const PartitionName& name, const std::string& id,
                            const std::string& heir, const std::vector<std::string>& addresses);

// Returns whether CLAIM has all the addresses that WANTED names.
[[nodiscard]] bool has_addresses(const Claim& claim, const Claim& wanted);

}  // namespace hook::fleet
