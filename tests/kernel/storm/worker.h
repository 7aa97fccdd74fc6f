// SPDX-License-Identifier: Apache-2.0
// One process of the storm: it starts and ends containers with IPUs until it is told to stop, or is
// killed.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "hook/config/config.h"
#include "hook/lifecycle/env.h"

namespace storm {

// Shared by all processes of the storm.
struct Tally {
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> started{0};    // containers that had IPUs and a network
  std::atomic<uint64_t> refused{0};    // no room, or others waited
  std::atomic<uint64_t> failed{0};     // by a fault of the controller
  std::atomic<uint64_t> abandoned{0};  // by the death of the worker, on its own account
  std::atomic<uint64_t> refilled{0};
  std::atomic<uint64_t> named{0};  // partitions made ahead and removed again
};

struct Setting {
  hook::config::Config config;
  std::string ledger;   // path
  std::string run_dir;  // of the generated files
  std::string bundles;  // directory for bundles
  std::string template_config;
  std::string client;  // path of ipu-vipu-client
};

// Does not return.
[[noreturn]] void work(const Setting& setting, Tally& tally, uint32_t seed);

// The Env of a worker, on LEDGER.
[[nodiscard]] hook::lifecycle::Env make_env(const Setting& setting, hook::ledger::Ledger& ledger);

}  // namespace storm
