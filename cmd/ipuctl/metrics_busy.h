// SPDX-License-Identifier: Apache-2.0
// The figures of ipuctl metrics that a monitor of the site gives.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "cmd/ipuctl/metrics/exposition.h"
#include "hook/config/config.h"
#include "hook/ledger/ledger.h"

namespace ipuctl {

// Adds how long IPUs were measured and busy on the day TODAY since 1970; nothing without [monitor]:
// what is unknown is not 0.
base::Status add_busy(hook::ledger::Ledger& ledger, const hook::config::Config& config,
                      int64_t today, metrics::Exposition& to);

}  // namespace ipuctl
