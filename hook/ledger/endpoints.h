// SPDX-License-Identifier: Apache-2.0
// The processes that answer in containers for their partitions (hook/lifecycle/endpoint).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/process.h"
#include "base/result.h"

namespace hook::ledger {

struct Store;

struct Endpoint {
  std::string lease;
  base::ProcessId process;  // which may have ended
  uint32_t attempts = 0;    // to start it again, in a row
  int64_t retry_ms = 0;     // unix time before which none but an operator tries again; see is_due()
};

class Endpoints {
 public:
  explicit Endpoints(Store& store) : store_(store) {}

  // Records PROCESS, which does not run its program yet, in place of an earlier one. Fails with
  // kBusy unless the lease is ALLOCATED or RUNNING: a release that has begun would not see it.
  base::Status record(const std::string& lease, const base::ProcessId& process);
  // Returns the process of LEASE, which may have ended. Absent also if it was of an earlier boot.
  base::Result<std::optional<base::ProcessId>> find(const std::string& lease);
  // Returns those of all RUNNING leases.
  base::Result<std::vector<Endpoint>> all();
  // Counts an attempt to start ENDED again, which all() returned, and returns how many there are in
  // a row. The pause until the next one grows with each; ten minutes after its end, counting begins
  // anew. Fails with kBusy if the lease is not RUNNING any more, or somebody else was faster.
  base::Result<uint32_t> begin_again(const Endpoint& ended);
  // Removes the record of PROCESS, which has ended.
  base::Status forget(const std::string& lease, const base::ProcessId& process);

 private:
  Store& store_;
};

}  // namespace hook::ledger
