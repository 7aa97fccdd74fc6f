// SPDX-License-Identifier: Apache-2.0
#include "vipu/wire_values.h"

#include "base/names.h"
#include "vipu/wire_fields.h"
#include "vipu/wire_names.h"

namespace vipu::wire {
namespace {

using namespace base::names;
using base::Json;

// More than any V-IPU installation has: the largest POD is 256 IPUs.
constexpr size_t kMaxValueText = 256;  // bytes of a name or a version
constexpr uint32_t kMaxPartitionIpus = 65536;
constexpr size_t kMaxPartitions = 4096;
constexpr size_t kMaxErrors = 64;
constexpr size_t kMaxErrorText = 4096;
constexpr int64_t kMaxTime = int64_t{1} << 40;  // seconds since 1970

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
          {"ready", name_of(partition.ready)},
          {"link_routing", name_of(partition.link_routing)},
          {"gateway_routing", name_of(partition.gateway_routing)},
          {"sync", name_of(partition.sync)}};
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
  partition.id = TRY(fields.text("id", kMaxValueText));
  partition.cluster = TRY(fields.text("cluster", kMaxValueText));
  partition.allocation = TRY(fields.text("allocation", kMaxValueText));
  const Json* ipus = TRY(fields.array("ipus", kMaxPartitionIpus));
  for (const Json& ipu : *ipus) partition.ipus.push_back(TRY(parse_place(ipu)));
  partition.gcds = TRY(fields.number("gcds", 0, kMaxPartitionIpus));
  partition.replicas = TRY(fields.number("replicas", 0, UINT32_MAX));
  partition.segments = TRY(fields.number("segments", 0, kMaxPartitionIpus));
  partition.reconfigurable = TRY(fields.flag("reconfigurable")) == Flag::kYes;
  partition.ready = TRY(parse_choice<ReadyState>(fields, "ready"));
  partition.link_routing = TRY(parse_choice<LinkRouting>(fields, "link_routing"));
  partition.gateway_routing = TRY(parse_choice<GatewayRouting>(fields, "gateway_routing"));
  partition.sync = TRY(parse_choice<SyncType>(fields, "sync"));
  return partition;
}

}  // namespace

Json to_json(const Done& /*done*/) { return true; }

Json to_json(const std::vector<Partition>& partitions) {
  Json json = Json::array();
  for (const Partition& partition : partitions) json.push_back(partition_to_json(partition));
  return json;
}

Json to_json(const PartitionStatus& status) {
  return {{"ready", name_of(status.ready)},
          {"operation", name_of(status.operation)},
          {"errors", status.errors},
          {"auto_resets", status.auto_resets},
          {"max_auto_resets", status.max_auto_resets},
          {"last_auto_reset", status.last_auto_reset}};
}

Json to_json(base::Removed removed) {
  return removed == base::Removed::kNow ? "removed" : "was_absent";
}

Json to_json(const Addresses& addresses) { return addresses.all; }

Json to_json(const std::string& version) { return version; }

template <>
Result<Done> from_json(const Json& json) {
  if (json == true) return Done{};
  return Error(Code::kInvalid, "it is not true");
}

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
  status.ready = TRY(parse_choice<ReadyState>(fields, "ready"));
  status.operation = TRY(parse_choice<OperationState>(fields, "operation"));
  status.errors = TRY(fields.texts("errors", kMaxErrors, kMaxErrorText));
  status.auto_resets = TRY(fields.number("auto_resets", 0, UINT32_MAX));
  status.max_auto_resets = TRY(fields.number("max_auto_resets", 0, UINT32_MAX));
  status.last_auto_reset = TRY(base::get_int(json, "last_auto_reset", "status"));
  if (status.last_auto_reset < 0 || status.last_auto_reset > kMaxTime) {
    return fields.wrong("last_auto_reset", "a time in seconds since 1970");
  }
  return status;
}

template <>
Result<base::Removed> from_json(const Json& json) {
  if (json == "removed") return base::Removed::kNow;
  if (json == "was_absent") return base::Removed::kWasAbsent;
  return Error(Code::kInvalid, "it is neither 'removed' nor 'was_absent'");
}

template <>
Result<Addresses> from_json(const Json& json) {
  if (!json.is_array() || json.empty() || json.size() > kMaxControllerAddresses) {
    return Error(Code::kInvalid,
                 str("addresses: is not an array of 1 to ", kMaxControllerAddresses, " elements"));
  }
  Addresses addresses;
  for (const Json& address : json) {
    if (!address.is_string() || !is_ip_address(address.get_ref<const std::string&>())) {
      return Error(Code::kInvalid, "addresses: an element is not an IP address");
    }
    addresses.all.push_back(address.get<std::string>());
  }
  return addresses;
}

template <>
Result<std::string> from_json(const Json& json) {
  if (!json.is_string() || !is_plain_text(json.get_ref<const std::string&>(), kMaxValueText)) {
    return Error(Code::kInvalid, "version: is not a short text");
  }
  return json.get<std::string>();
}

}  // namespace vipu::wire
