// SPDX-License-Identifier: Apache-2.0
#include "vipu/types.h"

#include <algorithm>

#include "vipu/wire_values.h"

namespace vipu {
namespace {

// Returns the value up to LAST whose name is NAME.
template <typename Value>
std::optional<Value> value_named(std::string_view name, Value last) {
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    if (name_of(static_cast<Value>(i)) == name) return static_cast<Value>(i);
  }
  return std::nullopt;
}

}  // namespace

const char* name_of(ReadyState state) {
  switch (state) {
    case ReadyState::kUndefined:
      return "UNDEFINED";
    case ReadyState::kPending:
      return "PENDING";
    case ReadyState::kActive:
      return "ACTIVE";
    case ReadyState::kRemoved:
      return "REMOVED";
    case ReadyState::kError:
      return "ERROR";
  }
  return "";
}

const char* name_of(OperationState state) {
  switch (state) {
    case OperationState::kUndefined:
      return "UNDEFINED";
    case OperationState::kIdle:
      return "IDLE";
    case OperationState::kCreating:
      return "CREATING";
    case OperationState::kRemoving:
      return "REMOVING";
    case OperationState::kResetting:
      return "RESETTING";
    case OperationState::kFailed:
      return "FAILED";
  }
  return "";
}

const char* name_of(LinkRouting routing) {
  switch (routing) {
    case LinkRouting::kUndefined:
      return "DEFAULT";
    case LinkRouting::kDnc:
      return "DNC";
    case LinkRouting::kSwnc:
      return "SWNC";
    case LinkRouting::kBtnc:
      return "BTNC";
    case LinkRouting::kRingSwnc:
      return "RINGSWNC";
  }
  return "";
}

const char* name_of(GatewayRouting routing) {
  switch (routing) {
    case GatewayRouting::kUndefined:
      return "DEFAULT";
    case GatewayRouting::kRing:
      return "RING";
    case GatewayRouting::kSwRing:
      return "SWRING";
  }
  return "";
}

const char* name_of(SyncType type) {
  switch (type) {
    case SyncType::kUndefined:
      return "DEFAULT";
    case SyncType::kGs2Default:
      return "ST_GS2_DEFAULT";
    case SyncType::kGs2IndependentRails:
      return "ST_GS2_INDEPENDENT_RAILS";
    case SyncType::kPodNativeDefault:
      return "ST_POD_NATIVE_DEFAULT";
    case SyncType::kPodNativeReplicatedPipeline:
      return "ST_POD_NATIVE_REPLICATED_PIPELINE";
  }
  return "";
}

std::optional<LinkRouting> parse_link_routing(std::string_view name) {
  return value_named(name, LinkRouting::kRingSwnc);
}
std::optional<GatewayRouting> parse_gateway_routing(std::string_view name) {
  return value_named(name, GatewayRouting::kSwRing);
}
std::optional<SyncType> parse_sync_type(std::string_view name) {
  return value_named(name, SyncType::kPodNativeReplicatedPipeline);
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
