// SPDX-License-Identifier: Apache-2.0
#include "vipu/types.h"

#include <algorithm>
#include <array>

#include "vipu/wire_values.h"

namespace vipu {
namespace {

// The names of each enumeration, in its order.
constexpr std::array kReadyStates = {"UNDEFINED", "PENDING", "ACTIVE", "REMOVED", "ERROR"};
constexpr std::array kOperationStates = {"UNDEFINED", "IDLE",      "CREATING",
                                         "REMOVING",  "RESETTING", "FAILED"};
constexpr std::array kLinkRoutings = {"DEFAULT", "DNC", "SWNC", "BTNC", "RINGSWNC"};
constexpr std::array kGatewayRoutings = {"DEFAULT", "RING", "SWRING"};
constexpr std::array kSyncTypes = {"DEFAULT", "ST_GS2_DEFAULT", "ST_GS2_INDEPENDENT_RAILS",
                                   "ST_POD_NATIVE_DEFAULT", "ST_POD_NATIVE_REPLICATED_PIPELINE"};

template <typename Value, size_t kCount>
const char* name_in(const std::array<const char*, kCount>& names, Value value) {
  return names.at(static_cast<size_t>(value));
}

template <typename Value, size_t kCount>
std::optional<Value> value_in(const std::array<const char*, kCount>& names, std::string_view name) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) return std::nullopt;
  return static_cast<Value>(at - names.begin());
}

}  // namespace

const char* name_of(ReadyState state) { return name_in(kReadyStates, state); }
const char* name_of(OperationState state) { return name_in(kOperationStates, state); }
const char* name_of(LinkRouting routing) { return name_in(kLinkRoutings, routing); }
const char* name_of(GatewayRouting routing) { return name_in(kGatewayRoutings, routing); }
const char* name_of(SyncType type) { return name_in(kSyncTypes, type); }

std::optional<LinkRouting> parse_link_routing(std::string_view name) {
  return value_in<LinkRouting>(kLinkRoutings, name);
}
std::optional<GatewayRouting> parse_gateway_routing(std::string_view name) {
  return value_in<GatewayRouting>(kGatewayRoutings, name);
}
std::optional<SyncType> parse_sync_type(std::string_view name) {
  return value_in<SyncType>(kSyncTypes, name);
}

bool is_partition_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxPartitionName &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_';
         });
}

std::string to_ipuof_file(const IpuofConfig& config) {
  return base::to_pretty_text(wire::to_json(config));
}

}  // namespace vipu
