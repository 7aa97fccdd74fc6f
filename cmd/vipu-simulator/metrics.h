// SPDX-License-Identifier: Apache-2.0
// Metrics: the POD and its calls as OpenMetrics text over HTTP.
#pragma once

#include <string>
#include <string_view>

#include "cmd/vipu-simulator/call_log.h"
#include "cmd/vipu-simulator/shared_model.h"

namespace simulator {

// Returns partitions by state, IPUs, and calls by method and status, with "# EOF" at the end.
[[nodiscard]] std::string metrics_text(const vipu::simulator::Model& model,
                                       const CallLog::Counts& calls);

// Returns the whole HTTP response to REQUEST: 200 for GET /metrics, 404 or 405 for anything else.
[[nodiscard]] std::string metrics_response(std::string_view request, SharedModel& store,
                                           const CallLog& log);

}  // namespace simulator
