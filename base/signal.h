// SPDX-License-Identifier: Apache-2.0
// A signal to exactly one process.
#pragma once

#include "base/process.h"
#include "base/result.h"

namespace base {

// Sends SIGNAL to exactly this process, by a pidfd (Linux 5.3). Returns kNotFound if it has ended,
// and kUnsupported if it is of another pid namespace.
Status signal_process(const ProcessId& process, int signal);

}  // namespace base
