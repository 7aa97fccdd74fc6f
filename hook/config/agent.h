// SPDX-License-Identifier: Apache-2.0
// The table [agent] of the configuration.
#pragma once

#include <chrono>
#include <cstdint>

namespace hook::config {

// What ipu-agent lets users do who are not root.
struct AgentConfig {
  bool show_others = false;  // whether they see the names of others' containers and reservations
  uint32_t max_ipus = 64;    // that all reservations of one user may have
  std::chrono::milliseconds max_wait = std::chrono::hours(1);   // the longest wait for IPUs
  std::chrono::milliseconds max_time = std::chrono::hours(24);  // the longest reservation
};

}  // namespace hook::config
