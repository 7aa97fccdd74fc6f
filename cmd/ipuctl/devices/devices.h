// SPDX-License-Identifier: Apache-2.0
// The IPUs of a pool, one by one: their partitions, their health, and who has them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vipu/types.h"

namespace ipuctl::devices {

// Who has GCDs of a partition: a lease of this host, or a claim of another one of the fleet.
struct Holder {
  std::string partition;
  uint32_t gcd = 0;  // the first one
  uint32_t gcds = 1;
  std::string lease = {};
  std::string container = {};  // its id at the engine
  std::string tenant = {};     // empty: none
  std::string host = {};       // tag; empty: this host
  bool operator==(const Holder&) const = default;
};

enum class Health {
  kUnknown,  // nobody looks
  kOk,
  kError,    // its partition is in state ERROR
  kTainted,  // no partition gets it
};
[[nodiscard]] std::string_view name_of(Health health);  // "unknown", "ok", "error", "tainted"

struct Device {
  vipu::IpuPlace place;
  Health health = Health::kUnknown;
  std::string reason = {};                                // of the taint
  std::string partition = {};                             // empty: none
  vipu::ReadyState ready = vipu::ReadyState::kUndefined;  // of the partition
  std::optional<uint32_t> gcd = {};                       // unset: no partition, or it is not known
  std::vector<Holder> holders = {};
};

// Returns the IPUs of the pool in link order. PARTITIONS are those of the pool; what SURVEY has of
// them does not count. IS_LOOKED_AT says whether something tells which IPUs are bad.
[[nodiscard]] std::vector<Device> devices_of(const vipu::Survey& survey,
                                             const std::vector<vipu::Partition>& partitions,
                                             const std::vector<Holder>& holders, bool is_looked_at);

}  // namespace ipuctl::devices
