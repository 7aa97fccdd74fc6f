// SPDX-License-Identifier: Apache-2.0
// Refuses checkpoints of containers with an RDMA device: CRIU can save neither the memory that the
// device has registered nor its queue pairs.
#pragma once

#include <string>

#include "base/result.h"

namespace hook::lifecycle::start {

// Fails with kUnsupported, saying what to do, if CONTAINER, which the low-level runtime keeps in
// STATE_DIR, runs and has an RDMA device according to its lease's files below RUN_DIR. Succeeds for
// every other container and in every doubt; the low-level runtime then reports what it finds. Opens
// neither ledger nor configuration.
base::Status check_checkpoint(const std::string& run_dir, const std::string& container,
                              const std::string& state_dir);

}  // namespace hook::lifecycle::start
