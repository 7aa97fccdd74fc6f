// SPDX-License-Identifier: Apache-2.0
// The section [fleet]: the etcd that hosts share.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace hook::config {

class Section;

inline constexpr size_t kMaxFleetEndpoints = 9;
// A host that is stuck, or restarts, comes back within this time.
inline constexpr std::chrono::minutes kLeastFenceTime{10};

// A fleet. TLS is used if there is a CA.
struct FleetConfig {
  std::vector<std::string> endpoints;  // ADDRESS:PORT, in the order in which they are tried
  std::string ca = {};                 // PEM files; certificate and key are empty if not required
  std::string certificate = {};
  std::string key = {};
  std::string server_name = {};                    // name in the certificates; empty: the address
  std::string user = {};                           // of etcd; empty: none
  std::string password_file = {};                  // with a user
  std::string prefix = "/ipu-container-toolkit/";  // of all keys; begins and ends with "/"
  // fence = "auto": hosts that were suspect for so long are fenced if WITNESS says that they are
  // off. The program runs as root, as WITNESS TAG NAME, and says so by status 0.
  bool fences_itself = false;
  std::chrono::milliseconds fence_after = kLeastFenceTime;
  std::string fence_witness = {};  // absolute path
  bool operator==(const FleetConfig&) const = default;
};

// Reads the section [fleet] of FILE's sections; absent if there is none. Errors name the key and
// what is accepted.
base::Result<std::optional<FleetConfig>> read_fleet(const Section& file);

}  // namespace hook::config
