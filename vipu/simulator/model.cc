// SPDX-License-Identifier: Apache-2.0
#include "vipu/simulator/model.h"

#include <algorithm>
#include <bit>

#include "base/text.h"

namespace vipu::simulator {

using base::Code;
using base::Error;
using base::Result;
using base::Status;
using base::str;

namespace {

// Longer names break Graphcore's own tools.
constexpr size_t kMaxName = 36;

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_';
         });
}

Error not_found(const std::string& id) {
  return {Code::kNotFound, str("no partition ", base::quote(id))};
}

Requirements completed(Requirements wanted) {
  wanted.gcds = std::max(1U, wanted.gcds);
  wanted.replicas = wanted.replicas == 0 ? wanted.gcds : wanted.replicas;
  wanted.allocation = kAllocation;
  return wanted;
}

}  // namespace

Status Model::check(const Requirements& wanted) const {
  if (!is_name(wanted.id)) {
    return Error(Code::kInvalid, str("partition name ", base::quote(wanted.id), " is not 1 to ",
                                     kMaxName, " of A-Z, a-z, 0-9, - and _"));
  }
  if (!std::has_single_bit(wanted.size) || wanted.size > pod_.ipus()) {
    return Error(Code::kInvalid, str("size ", wanted.size, " is not a power of two from 1 to ",
                                     pod_.ipus(), ", the IPUs of ", pod_.name));
  }
  const uint32_t gcds = std::max(1U, wanted.gcds);
  if (!std::has_single_bit(gcds) || gcds > wanted.size) {
    return Error(Code::kInvalid, str(gcds, " GCDs cannot share ", wanted.size, " IPUs evenly"));
  }
  if (!wanted.allocation.empty() && wanted.allocation != kAllocation) {
    return Error(Code::kInvalid, str("no allocation ", base::quote(wanted.allocation),
                                     ": there is one, '", kAllocation, "'"));
  }
  return {};
}

Status Model::create(const Requirements& wanted, Time now) {
  TRY(check(wanted));
  if (entries_.contains(wanted.id)) {
    return Error(Code::kExists, str("there is a partition ", base::quote(wanted.id)));
  }
  const Occupied taken = occupied();
  const std::optional<uint32_t> first = find_block(taken, wanted.size);
  if (!first.has_value()) {
    return Error(Code::kBusy, str("no free block of ", wanted.size,
                                  " IPUs (largest free: ", largest_free_block(taken), ")"));
  }
  entries_[wanted.id] = {completed(wanted), *first, now + create_delay_, OperationState::kCreating,
                         create_error_};
  return {};
}

Status Model::remove(const std::string& id, Force force, Time now) {
  const auto at = entries_.find(id);
  if (at == entries_.end()) return not_found(id);
  if (force == Force::kNo && ready_of(at->second, now) == ReadyState::kError) {
    return Error(Code::kBusy, str("partition ", base::quote(id), " failed: it takes force"));
  }
  entries_.erase(at);
  return {};
}

Status Model::reset(const std::string& id, Time now) {
  const auto at = entries_.find(id);
  if (at == entries_.end()) return not_found(id);
  at->second.active_at = now + create_delay_;
  at->second.operation = OperationState::kResetting;
  at->second.error.clear();
  return {};
}

ReadyState Model::ready_of(const Entry& entry, Time now) {
  if (now < entry.active_at) return ReadyState::kPending;
  return entry.error.empty() ? ReadyState::kActive : ReadyState::kError;
}

std::vector<Partition> Model::list(Time now) const {
  std::vector<Partition> partitions;
  for (const auto& [id, entry] : entries_) {
    Partition partition;
    partition.id = id;
    partition.cluster = pod_.name;
    partition.allocation = entry.wanted.allocation;
    for (uint32_t i = 0; i < entry.wanted.size; ++i) partition.ipus.push_back({0, entry.first + i});
    partition.gcds = entry.wanted.gcds;
    partition.replicas = entry.wanted.replicas;
    partition.reconfigurable = entry.wanted.reconfigurable;
    partition.ready = ready_of(entry, now);
    partitions.push_back(std::move(partition));
  }
  return partitions;
}

Result<const Model::Entry*> Model::find(const std::string& id) const {
  const auto at = entries_.find(id);
  if (at == entries_.end()) return not_found(id);
  return &at->second;
}

Result<PartitionStatus> Model::status(const std::string& id, Time now) const {
  const Entry* entry = TRY(find(id));
  switch (ready_of(*entry, now)) {
    case ReadyState::kActive:
      return PartitionStatus{ReadyState::kActive, OperationState::kIdle, {}};
    case ReadyState::kError:
      return PartitionStatus{ReadyState::kError, OperationState::kFailed, {entry->error}};
    default:
      return PartitionStatus{ReadyState::kPending, entry->operation, {}};
  }
}

Result<std::vector<IpuofConfig>> Model::config(const std::string& id, Time now) const {
  const Entry* entry = TRY(find(id));
  if (ready_of(*entry, now) != ReadyState::kActive) {
    return Error(Code::kBusy, str("partition ", base::quote(id), " is not ACTIVE"));
  }
  std::vector<IpuofConfig> gcds(entry->wanted.gcds);
  const uint32_t per_gcd = entry->wanted.size / entry->wanted.gcds;
  for (uint32_t i = 0; i < entry->wanted.size; ++i) {
    gcds[i / per_gcd].devices.push_back(device_of(pod_, entry->first + i, i));
  }
  // The two attributes that are known by name.
  for (size_t gcd = 0; gcd < gcds.size(); ++gcd) {
    gcds[gcd].attributes["GCD Id"] = std::to_string(gcd);
    gcds[gcd].attributes["Fabric Reconfigurable"] = entry->wanted.reconfigurable ? "true" : "false";
  }
  return gcds;
}

std::optional<std::string> Model::holder_of(uint32_t ipu) const {
  for (const auto& [id, entry] : entries_) {
    if (ipu >= entry.first && ipu - entry.first < entry.wanted.size) return id;
  }
  return std::nullopt;
}

Occupied Model::occupied() const {
  Occupied occupied(pod_.ipus());
  for (const auto& [id, entry] : entries_) {
    for (uint32_t i = 0; i < entry.wanted.size; ++i) occupied[entry.first + i] = true;
  }
  return occupied;
}

Status Model::put_back(const Requirements& wanted, uint32_t first) {
  TRY(check(wanted));
  const Occupied taken = occupied();
  const bool fits = first % wanted.size == 0 && first + wanted.size <= pod_.ipus() &&
                    std::none_of(taken.begin() + first, taken.begin() + first + wanted.size,
                                 [](bool ipu) { return ipu; });
  if (!fits || entries_.contains(wanted.id)) {
    return Error(Code::kInvalid, str("partition ", base::quote(wanted.id), " at IPU ", first,
                                     " is out of place, or in the place of another"));
  }
  entries_[wanted.id] = {completed(wanted), first, Time::min(), OperationState::kIdle, ""};
  return {};
}

}  // namespace vipu::simulator
