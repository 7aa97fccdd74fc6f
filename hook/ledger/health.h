// SPDX-License-Identifier: Apache-2.0
// What is recorded of the health of IPUs: see vipu/health.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "vipu/health.h"

namespace hook::ledger {

struct Store;

struct PoolIpu {
  std::string pool;
  vipu::IpuHealth health;
};

// Each change of a taint writes its event in its own transaction.
class Health {
 public:
  explicit Health(Store& store) : store_(store) {}

  // Returns the IPUs of which something bad is recorded, by pool and name.
  base::Result<std::vector<PoolIpu>> all();
  // Returns the IPUs whose last event says that they are tainted, by pool and name; for when the
  // taints themselves were lost. The reason is that event.
  base::Result<std::vector<PoolIpu>> tainted_by_history();
  // Adds what was seen of the pool's IPUs. Returns those whose taint changed, as they are now.
  base::Result<std::vector<vipu::IpuHealth>> observe(
      const std::string& pool, const std::vector<vipu::Observation>& observations,
      const vipu::Damping& damping);
  // Taints an IPU for an operator, in place of a check's taint.
  base::Status taint(const std::string& pool, const std::string& ipu, const std::string& reason);
  // Clears the taint of an IPU, whoever set it, and forgets what was seen. Fails with kNotFound if
  // it has none.
  base::Status clear(const std::string& pool, const std::string& ipu);

 private:
  base::Result<vipu::IpuHealth> find(const std::string& pool, const std::string& ipu);
  base::Status store(const std::string& pool, const vipu::IpuHealth& health);
  base::Status record(const std::string& pool, const vipu::IpuHealth& health);
  Store& store_;
};

}  // namespace hook::ledger
