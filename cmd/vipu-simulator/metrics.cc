// SPDX-License-Identifier: Apache-2.0
#include "cmd/vipu-simulator/metrics.h"

#include "base/text.h"

namespace simulator {
namespace {

using base::str;
using vipu::ReadyState;
using vipu::simulator::Model;

std::string partitions_text(const Model& model) {
  uint32_t pending = 0;
  uint32_t active = 0;
  uint32_t error = 0;
  for (const auto& [id, record] : model.records()) {
    pending += record.ready == ReadyState::kPending ? 1U : 0U;
    active += record.ready == ReadyState::kActive ? 1U : 0U;
    error += record.ready == ReadyState::kError ? 1U : 0U;
  }
  return str("# TYPE vipu_simulator_partitions gauge\n",
             "# HELP vipu_simulator_partitions Partitions by state.\n",
             "vipu_simulator_partitions{state=\"pending\"} ", pending, "\n",
             "vipu_simulator_partitions{state=\"active\"} ", active, "\n",
             "vipu_simulator_partitions{state=\"error\"} ", error, "\n");
}

std::string ipus_text(const Model& model) {
  const vipu::Occupancy pod = model.occupancy();
  uint32_t used = 0;
  uint32_t tainted = 0;
  for (uint32_t ipu = 0; ipu < model.pod().ipus(); ++ipu) {
    used += pod.holder_of(ipu).empty() ? 0U : 1U;
    tainted += pod.taint_of(ipu).empty() ? 0U : 1U;
  }
  return str("# TYPE vipu_simulator_ipus gauge\n", "# HELP vipu_simulator_ipus IPUs of the POD.\n",
             "vipu_simulator_ipus ", model.pod().ipus(), "\n",
             "# TYPE vipu_simulator_ipus_used gauge\n",
             "# HELP vipu_simulator_ipus_used IPUs that a partition holds.\n",
             "vipu_simulator_ipus_used ", used, "\n", "# TYPE vipu_simulator_ipus_tainted gauge\n",
             "# HELP vipu_simulator_ipus_tainted IPUs that are tainted or whose agent is down.\n",
             "vipu_simulator_ipus_tainted ", tainted, "\n",
             "# TYPE vipu_simulator_largest_free_block gauge\n",
             "# HELP vipu_simulator_largest_free_block IPUs of the largest partition with room.\n",
             "vipu_simulator_largest_free_block ", vipu::largest_free(pod), "\n");
}

std::string calls_text(const CallLog::Counts& calls) {
  std::string text =
      "# TYPE vipu_simulator_calls counter\n"
      "# HELP vipu_simulator_calls Calls that have ended, by method and gRPC status.\n";
  for (const auto& [method, by_status] : calls) {
    for (const auto& [status, count] : by_status) {
      text += str("vipu_simulator_calls_total{method=\"", method, "\",status=\"", status, "\"} ",
                  count, "\n");
    }
  }
  return text;
}

std::string response(std::string_view status, std::string_view type, const std::string& body) {
  return str("HTTP/1.1 ", status, "\r\nContent-Type: ", type, "\r\nContent-Length: ", body.size(),
             "\r\nConnection: close\r\n\r\n", body);
}

}  // namespace

std::string metrics_text(const Model& model, const CallLog::Counts& calls) {
  return partitions_text(model) + ipus_text(model) + calls_text(calls) + "# EOF\n";
}

std::string metrics_response(std::string_view request, SharedModel& store, const CallLog& log) {
  constexpr const char* kPlain = "text/plain; charset=utf-8";
  if (!request.starts_with("GET ")) return response("405 Method Not Allowed", kPlain, "GET only\n");
  const std::string_view path = request.substr(4, request.find_first_of(" ?\r\n", 4) - 4);
  if (path != "/metrics") return response("404 Not Found", kPlain, "see /metrics\n");
  return response(
      "200 OK", "application/openmetrics-text; version=1.0.0; charset=utf-8",
      store.read([&](const Model& model) { return metrics_text(model, log.counts()); }));
}

}  // namespace simulator
