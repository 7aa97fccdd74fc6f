// SPDX-License-Identifier: Apache-2.0
// Taking away by force what the product left: for the start of a scenario, and after one that
// leaked.
#pragma once

#include <string>

#include "base/result.h"

namespace fault {

// Nothing of the product is left on the host but what is installed: no ledger, no partition, no
// bundle, an empty run directory.
base::Status clean_host();

// Unmounts what is mounted in the product's run directory, and removes it.
base::Status clean_run_dir();

// Removes a partition, of whoever it is.
base::Status remove_partition(const std::string& name);

}  // namespace fault
