// SPDX-License-Identifier: Apache-2.0
// Pool: the IPUs from which a local pool makes its partitions. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "vipu/health.h"
#include "vipu/local/partition_store.h"
#include "vipu/types.h"

namespace vipu::local {

// The IPUs of a pool, as their source shows them at one moment, numbered from 0 across the domains
// in sequence, in link order (see vipu::Topology).
struct Pool {
  std::vector<uint32_t> domains = {};  // their sizes
  // The identity of the IPU with each number, whatever its place: "10.5.1.1:3", "0000:35:00.0".
  // Empty if there is none now; its place is then tainted.
  std::vector<std::string> ipus = {};
  std::vector<TaintedIpu> tainted = {};
  std::vector<IpuAttributes> attributes = {};
  std::string why_no_create = {};  // why no partition can be made; empty: partitions can be made
  // Returns the grant of a partition of the IPUs with these numbers.
  std::function<Grant(const std::vector<uint32_t>& numbers)> grant = {};
  // Returns the number of the IPU that a request calls NAME.
  std::function<std::optional<uint32_t>(const IpuPlace& name)> number_of = {};
};

// The numbers of a record's IPUs, and the identities of those that have left the pool.
struct Found {
  std::vector<uint32_t> numbers = {};
  std::vector<std::string> gone = {};
};
[[nodiscard]] Found find(const Pool& pool, const Record& record);

// Marks an IPU as never given to a partition. Has no effect on an IPU that is already tainted or is
// not in the pool: one that the configuration names may be gone.
void taint(Pool& pool, uint32_t number, const std::string& reason);
// Does the same with the IPUs of these names.
void taint(Pool& pool, const std::vector<BadIpu>& bad);

// The place of an IPU that is gone: outside every pool.
inline constexpr IpuPlace kGone{UINT32_MAX, UINT32_MAX};

// Returns the pool with its partitions. A partition that lacks IPUs is in state ERROR.
[[nodiscard]] Survey survey_of(const Pool& pool, const std::vector<Record>& records);

// Succeeds if a local pool can make such a partition at all. Returns kInvalid for its name, and
// kUnsupported, with the field, for cluster, allocation, routing, sync, and more than one segment,
// GCD or replica. Accepts what is true anyway: reconfigurable, disable_auto_reset, relocatable, and
// the routing ids of named IPUs, which are the pool's.
[[nodiscard]] base::Status check_request(const PartitionRequest& request);

// Returns the numbers of the partition's IPUs. By size: a free block (see vipu::place) of one
// domain. By name: these IPUs, which must be one aligned block or whole domains. What keep() keeps
// for request.pinned is in use. Returns kInvalid for an impossible request, kDenied for a tainted
// named IPU, and kBusy, with the holder, for IPUs in use.
[[nodiscard]] base::Result<std::vector<uint32_t>> choose(const Pool& pool, const Survey& survey,
                                                         const PartitionRequest& request);

}  // namespace vipu::local
