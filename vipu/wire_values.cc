// SPDX-License-Identifier: Apache-2.0
#include "vipu/wire_values.h"

#include <bit>

#include "vipu/wire_fields.h"

namespace vipu::wire {
namespace {

using base::Code;
using base::Error;
using base::Json;
using base::Result;

// More than any V-IPU installation has: the largest POD is 256 IPUs.
constexpr size_t kMaxText = 256;  // bytes of a name or a version
constexpr uint32_t kMaxIpus = 65536;
constexpr size_t kMaxPartitions = 4096;
constexpr size_t kMaxErrors = 64;
constexpr size_t kMaxErrorText = 4096;

// In the order of ReadyState and of OperationState.
const std::vector<std::string>& ready_names() {
  static const std::vector<std::string> names = {
      name_of(ReadyState::kUndefined), name_of(ReadyState::kPending), name_of(ReadyState::kActive),
      name_of(ReadyState::kRemoved), name_of(ReadyState::kError)};
  return names;
}
const std::vector<std::string>& operation_names() {
  static const std::vector<std::string> names = {"UNDEFINED", "IDLE",      "CREATING",
                                                 "REMOVING",  "RESETTING", "FAILED"};
  return names;
}

Json partition_to_json(const Partition& partition) {
  Json ipus = Json::array();
  for (const IpuPlace& place : partition.ipus) {
    ipus.push_back(Json{{"domain", place.domain}, {"ipu", place.ipu}});
  }
  return {{"id", partition.id},
          {"cluster", partition.cluster},
          {"allocation", partition.allocation},
          {"ipus", std::move(ipus)},
          {"gcds", partition.gcds},
          {"replicas", partition.replicas},
          {"segments", partition.segments},
          {"reconfigurable", partition.reconfigurable},
          {"ready", name_of(partition.ready)}};
}

Result<IpuPlace> parse_place(const Json& json) {
  const Fields fields = TRY(Fields::open(json, "ipu"));
  IpuPlace place;
  place.domain = TRY(fields.number("domain", 0, UINT32_MAX));
  place.ipu = TRY(fields.number("ipu", 0, UINT32_MAX));
  return place;
}

Result<Partition> parse_partition(const Json& json) {
  const Fields fields = TRY(Fields::open(json, "partition"));
  Partition partition;
  partition.id = TRY(fields.text("id", kMaxText));
  partition.cluster = TRY(fields.text("cluster", kMaxText));
  partition.allocation = TRY(fields.text("allocation", kMaxText));
  const Json* ipus = TRY(fields.array("ipus", kMaxIpus));
  for (const Json& ipu : *ipus) partition.ipus.push_back(TRY(parse_place(ipu)));
  partition.gcds = TRY(fields.number("gcds", 0, kMaxIpus));
  partition.replicas = TRY(fields.number("replicas", 0, UINT32_MAX));
  partition.segments = TRY(fields.number("segments", 0, kMaxIpus));
  partition.reconfigurable = TRY(fields.flag("reconfigurable")) == Flag::kYes;
  partition.ready = static_cast<ReadyState>(TRY(fields.choice("ready", ready_names())));
  return partition;
}

}  // namespace

Json to_json(const std::vector<Partition>& partitions) {
  Json json = Json::array();
  for (const Partition& partition : partitions) json.push_back(partition_to_json(partition));
  return json;
}

Json to_json(const PartitionStatus& status) {
  Json errors = Json::array();
  for (const std::string& error : status.errors) errors.push_back(error);
  return {{"ready", name_of(status.ready)},
          {"operation", operation_names()[static_cast<size_t>(status.operation)]},
          {"errors", std::move(errors)}};
}

Json to_json(const Capacity& capacity) {
  return {
      {"total", capacity.total}, {"used", capacity.used}, {"largest_free", capacity.largest_free}};
}

Json to_json(base::Removed removed) {
  return removed == base::Removed::kNow ? "removed" : "was_absent";
}

Json to_json(const std::string& version) { return version; }

template <>
Result<std::vector<Partition>> from_json(const Json& json) {
  if (!json.is_array() || json.size() > kMaxPartitions) {
    return Error(Code::kInvalid, "partitions: is not an array, or too long");
  }
  std::vector<Partition> partitions;
  for (const Json& partition : json) partitions.push_back(TRY(parse_partition(partition)));
  return partitions;
}

template <>
Result<PartitionStatus> from_json(const Json& json) {
  const Fields fields = TRY(Fields::open(json, "status"));
  PartitionStatus status;
  status.ready = static_cast<ReadyState>(TRY(fields.choice("ready", ready_names())));
  status.operation =
      static_cast<OperationState>(TRY(fields.choice("operation", operation_names())));
  const Json* errors = TRY(fields.array("errors", kMaxErrors));
  for (const Json& error : *errors) {
    if (!error.is_string() || !is_plain_text(error.get<std::string>(), kMaxErrorText)) {
      return fields.wrong("errors", "an array of short texts");
    }
    status.errors.push_back(error.get<std::string>());
  }
  return status;
}

template <>
Result<Capacity> from_json(const Json& json) {
  const Fields fields = TRY(Fields::open(json, "capacity"));
  Capacity capacity;
  capacity.total = TRY(fields.number("total", 0, kMaxIpus));
  capacity.used = TRY(fields.number("used", 0, capacity.total));
  const uint32_t free = capacity.total - capacity.used;
  capacity.largest_free = TRY(fields.number("largest_free", 0, free));
  if (std::popcount(capacity.largest_free) > 1) {
    return fields.wrong("largest_free", "a power of two");
  }
  return capacity;
}

template <>
Result<base::Removed> from_json(const Json& json) {
  if (json == "removed") return base::Removed::kNow;
  if (json == "was_absent") return base::Removed::kWasAbsent;
  return Error(Code::kInvalid, "it is neither 'removed' nor 'was_absent'");
}

template <>
Result<std::string> from_json(const Json& json) {
  if (!json.is_string() || !is_plain_text(json.get<std::string>(), kMaxText)) {
    return Error(Code::kInvalid, "version: is not a short text");
  }
  return json.get<std::string>();
}

}  // namespace vipu::wire
