// SPDX-License-Identifier: Apache-2.0
// The runtime that the tests add to the files of engines.
#pragma once

#include "hook/engines/runtime_entry.h"

namespace hook::engines {

inline const RuntimeEntry kEntry{"ipu", "/usr/bin/ipu-container-runtime"};

}  // namespace hook::engines
