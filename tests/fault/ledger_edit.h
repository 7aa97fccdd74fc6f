// SPDX-License-Identifier: Apache-2.0
// Changes of the ledger that make a start state.
#pragma once

#include <string>

#include "base/result.h"

namespace fault {

// Makes the log of the ledger in STATE_DIR so long that the next commit copies it. No row changes.
base::Status fill_log(const std::string& state_dir);

// The IPUs of CONTAINER as they were at another place: the number of each is one that no IPU has.
// To the product the controller has moved them since.
base::Status move_ipus(const std::string& state_dir, const std::string& container);

// The first number that move_ipus() gives.
inline constexpr int kElsewhere = 1000;

}  // namespace fault
