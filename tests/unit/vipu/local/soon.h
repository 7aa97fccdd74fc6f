// SPDX-License-Identifier: Apache-2.0
// The deadline of a call that is not to fail by it.
#pragma once

#include <chrono>

#include "base/clock.h"

namespace vipu {

inline base::Deadline soon() { return base::Deadline::after(std::chrono::seconds(10)); }

}  // namespace vipu
