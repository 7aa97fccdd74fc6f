// SPDX-License-Identifier: Apache-2.0
// The figures of ipuctl metrics that count since midnight (UTC).
#pragma once

#include <cstdint>

#include "base/result.h"
#include "cmd/ipuctl/metrics/exposition.h"
#include "hook/config/config.h"
#include "hook/ledger/ledger.h"

namespace ipuctl {

// Adds starts, refusals, what was held, how long starts took and how controllers answered, and with
// a monitor how busy IPUs were, on the day of NOW (unix time in ms).
base::Status add_today(hook::ledger::Ledger& ledger, const hook::config::Config& config,
                       int64_t now, metrics::Exposition& to);

}  // namespace ipuctl
