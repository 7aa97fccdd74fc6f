// SPDX-License-Identifier: Apache-2.0
// The processes that answer in containers for their partitions (hook/lifecycle/endpoint).
#pragma once

#include <optional>
#include <string>

#include "base/process.h"
#include "base/result.h"

namespace hook::ledger {

struct Store;

class Endpoints {
 public:
  explicit Endpoints(Store& store) : store_(store) {}

  // Records PROCESS, which does not run its program yet, in place of an earlier one. Fails with
  // kBusy unless the lease is ALLOCATED or RUNNING: a release that has begun would not see it.
  base::Status record(const std::string& lease, const base::ProcessId& process);
  // Returns the process of LEASE, which may have ended. Absent also if it was of an earlier boot.
  base::Result<std::optional<base::ProcessId>> find(const std::string& lease);
  // Removes the record of a process that has ended.
  base::Status forget(const std::string& lease);

 private:
  Store& store_;
};

}  // namespace hook::ledger
