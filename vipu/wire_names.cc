// SPDX-License-Identifier: Apache-2.0
#include "vipu/wire_names.h"

namespace vipu::wire {

template <>
const std::vector<std::string>& names_of<ReadyState>() {
  static const std::vector<std::string> names = names_up_to(ReadyState::kError, vipu::name_of);
  return names;
}
template <>
const std::vector<std::string>& names_of<OperationState>() {
  static const std::vector<std::string> names = names_up_to(OperationState::kFailed, vipu::name_of);
  return names;
}
template <>
const std::vector<std::string>& names_of<LinkRouting>() {
  static const std::vector<std::string> names = names_up_to(LinkRouting::kRingSwnc, vipu::name_of);
  return names;
}
template <>
const std::vector<std::string>& names_of<GatewayRouting>() {
  static const std::vector<std::string> names = names_up_to(GatewayRouting::kSwRing, vipu::name_of);
  return names;
}
template <>
const std::vector<std::string>& names_of<SyncType>() {
  static const std::vector<std::string> names =
      names_up_to(SyncType::kPodNativeReplicatedPipeline, vipu::name_of);
  return names;
}

}  // namespace vipu::wire
