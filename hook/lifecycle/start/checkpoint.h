// SPDX-License-Identifier: Apache-2.0
// Which containers cannot be checkpointed: CRIU can save neither the memory that an RDMA device has
// registered nor its queue pairs.
#pragma once

#include <string>

#include "base/result.h"

namespace hook::lifecycle::start {

// kUnsupported, with what to do, if CONTAINER, which the low-level runtime keeps in STATE_DIR, runs
// and has an RDMA device, by the files of its lease below RUN_DIR. Success for every other
// container and in every doubt: what a low-level runtime makes of it, it says itself. Opens neither
// ledger nor configuration.
base::Status check_checkpoint(const std::string& run_dir, const std::string& container,
                              const std::string& state_dir);

}  // namespace hook::lifecycle::start
