// SPDX-License-Identifier: Apache-2.0
// Model: what a V-IPU controller knows and decides, without network, clock or files.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "vipu/placement.h"
#include "vipu/simulator/pod.h"
#include "vipu/types.h"

namespace vipu::simulator {

// Time since any fixed moment; whoever calls has the clock.
using Time = std::chrono::milliseconds;

inline constexpr const char* kAllocation = "alloc-1";  // the one allocation, of the whole POD

struct Requirements {
  std::string id;
  uint32_t size = 0;
  uint32_t gcds = 0;      // 0: 1
  uint32_t replicas = 0;  // 0: one a GCD
  bool reconfigurable = false;
  std::string allocation;  // empty: any
};

enum class Force : bool { kNo, kYes };

// Partitions of one POD. A partition takes its IPUs at once and is ACTIVE when the delay has
// passed. A copy is another POD: change the copy, store it, then keep it.
class Model {
 public:
  // CREATE_ERROR: what every new partition fails with after the delay; empty: none does.
  Model(Pod pod, Time create_delay, std::string create_error = "")
      : pod_(std::move(pod)), create_delay_(create_delay), create_error_(std::move(create_error)) {}

  // kInvalid for a size or a name that no partition can have, kExists, kBusy without a free block.
  base::Status create(const Requirements& wanted, Time now);
  // kNotFound if there is none, as in all that follow. kBusy if it failed, unless by force.
  base::Status remove(const std::string& id, Force force, Time now);
  // The partition is PENDING again, for as long as making it took; then ACTIVE, also if it had
  // failed.
  base::Status reset(const std::string& id, Time now);

  [[nodiscard]] std::vector<Partition> list(Time now) const;  // ordered by id
  base::Result<PartitionStatus> status(const std::string& id, Time now) const;
  // One for each GCD; kBusy while it is not ACTIVE.
  base::Result<std::vector<IpuofConfig>> config(const std::string& id, Time now) const;

  // The partition that holds an IPU, also while it is PENDING.
  [[nodiscard]] std::optional<std::string> holder_of(uint32_t ipu) const;

  [[nodiscard]] const Pod& pod() const { return pod_; }

  // Partitions as JSON, and put back. Partitions of a file are ACTIVE: what was PENDING has had its
  // time. kInvalid with the reason if TEXT is not what to_state wrote for such a POD.
  [[nodiscard]] std::string to_state() const;
  base::Status load_state(std::string_view text);

 private:
  struct Entry {
    Requirements wanted;  // complete: no field is left open
    uint32_t first = 0;   // of wanted.size IPUs
    Time active_at{0};
    OperationState operation = OperationState::kIdle;  // until active_at
    std::string error;                                 // from then on; empty: it is ACTIVE
  };
  static ReadyState ready_of(const Entry& entry, Time now);
  base::Status check(const Requirements& wanted) const;
  base::Result<const Entry*> find(const std::string& id) const;
  [[nodiscard]] Occupied occupied() const;
  base::Status put_back(const Requirements& wanted, uint32_t first);

  Pod pod_;
  Time create_delay_;
  std::string create_error_;
  std::map<std::string, Entry> entries_;
};

}  // namespace vipu::simulator
