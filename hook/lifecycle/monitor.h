// SPDX-License-Identifier: Apache-2.0
// Asks the monitor of the site how busy IPUs are, and counts it for those who have them.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "hook/config/monitor.h"
#include "hook/lifecycle/env.h"
#include "vipu/busy.h"

namespace hook::lifecycle {

// Runs the monitor's command as nobody, without capabilities, for at most its timeout, and returns
// what it says. The error names the command.
base::Result<vipu::BusyParts> ask_monitor(const config::MonitorConfig& monitor);

// The IPUs of live leases, and what a monitor says of them. An IPU counts for each lease that has
// it.
struct BusyLook {
  int64_t held = 0;
  int64_t measured = 0;  // of these, those of which the monitor says something
  double busy = 0;       // the sum of their busy parts
};

// Returns what a monitor that says PARTS says of the IPUs of live leases; records nothing.
base::Result<BusyLook> look_at_busy(Env& env, const config::Config& config,
                                    const vipu::BusyParts& parts);

// Takes a sample: asks the monitor, unless no lease has an IPU, and counts what it says of the IPUs
// that leases have. IPUs that no lease of this host has count nothing. If the monitor fails, the
// time since the last sample stays unmeasured; that failures begin is an event.
base::Result<BusyLook> sample_busy(Env& env, const config::Config& config,
                                   const config::MonitorConfig& monitor);

}  // namespace hook::lifecycle
