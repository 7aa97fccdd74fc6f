// SPDX-License-Identifier: Apache-2.0
// The section [fleet]: the etcd that hosts share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace hook::config {

class Section;

inline constexpr size_t kMaxFleetEndpoints = 9;

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
  bool operator==(const FleetConfig&) const = default;
};

// Reads the section [fleet] of FILE's sections; absent if there is none. Errors name the key and
// what is accepted.
base::Result<std::optional<FleetConfig>> read_fleet(const Section& file);

}  // namespace hook::config
