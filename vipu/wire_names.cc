// SPDX-License-Identifier: Apache-2.0
#include "vipu/wire_names.h"

namespace vipu::wire {
namespace {

// Returns the names from the first value, which is 0, to LAST.
template <typename Value>
std::vector<std::string> names_up_to(Value last) {
  std::vector<std::string> names;
  for (size_t i = 0; i <= static_cast<size_t>(last); ++i) {
    names.emplace_back(name_of(static_cast<Value>(i)));
  }
  return names;
}

}  // namespace

template <>
const std::vector<std::string>& names_of<ReadyState>() {
  static const std::vector<std::string> names = names_up_to(ReadyState::kError);
  return names;
}
template <>
const std::vector<std::string>& names_of<OperationState>() {
  static const std::vector<std::string> names = names_up_to(OperationState::kFailed);
  return names;
}
template <>
const std::vector<std::string>& names_of<LinkRouting>() {
  static const std::vector<std::string> names = names_up_to(LinkRouting::kRingSwnc);
  return names;
}
template <>
const std::vector<std::string>& names_of<GatewayRouting>() {
  static const std::vector<std::string> names = names_up_to(GatewayRouting::kSwRing);
  return names;
}
template <>
const std::vector<std::string>& names_of<SyncType>() {
  static const std::vector<std::string> names = names_up_to(SyncType::kPodNativeReplicatedPipeline);
  return names;
}

}  // namespace vipu::wire
