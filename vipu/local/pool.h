// SPDX-License-Identifier: Apache-2.0
// Pool: what the partitions of a local pool are made of. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "vipu/local/store.h"
#include "vipu/types.h"

namespace vipu::local {

// The IPUs of a pool, as their source shows them at one moment. Their numbers count from 0 over the
// domains one after the other, in link order (see vipu::Topology).
struct Pool {
  std::vector<uint32_t> domains = {};  // their sizes
  // What the IPU of each number is, whatever its place: "10.5.1.1:3", "0000:35:00.0". Empty where
  // there is none now; then the place is tainted.
  std::vector<std::string> ipus = {};
  std::vector<TaintedIpu> tainted = {};
  std::vector<IpuAttributes> attributes = {};
  std::string why_no_create = {};  // why no partition can be made; empty: they can
  // What a partition of the IPUs with these numbers is given.
  std::function<Grant(const std::vector<uint32_t>& numbers)> grant = {};
  // The number of the IPU that a request names so.
  std::function<std::optional<uint32_t>(const IpuPlace& name)> number_of = {};
};

// The numbers of the IPUs of RECORD, or which of them are not in the pool any more.
struct Found {
  std::vector<uint32_t> numbers = {};
  std::vector<std::string> gone = {};
};
[[nodiscard]] Found find(const Pool& pool, const Record& record);

// The IPU with this number is never given away. Without effect if it is tainted already, or is not
// in the pool: one that the configuration names may have gone.
void taint(Pool& pool, uint32_t number, const std::string& reason);

// The place of an IPU that is gone: outside of every pool.
inline constexpr IpuPlace kGone{UINT32_MAX, UINT32_MAX};

// The pool with its partitions. One whose IPUs are not all there is in state ERROR.
[[nodiscard]] Survey survey_of(const Pool& pool, const std::vector<Record>& records);

// Whether a local pool can make such a partition at all. kInvalid for its name; kUnsupported, with
// the field, for cluster, allocation, routing, sync, and more than one segment, GCD or replica.
// Accepted, since they are so anyway: reconfigurable, disable_auto_reset, relocatable, and the
// routing ids of named IPUs, which are those of the pool.
[[nodiscard]] base::Status check_request(const PartitionRequest& request);

// The numbers of the IPUs that the partition gets. By size: a free block (see vipu::place) of one
// domain. By name: these IPUs, which must be one aligned block or whole domains. kInvalid for what
// can never be, kDenied for a named IPU that is tainted, kBusy for what is not free, with who has
// it.
[[nodiscard]] base::Result<std::vector<uint32_t>> choose(const Pool& pool, const Survey& survey,
                                                         const PartitionRequest& request);

}  // namespace vipu::local
