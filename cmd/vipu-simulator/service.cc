// SPDX-License-Identifier: Apache-2.0
#include "cmd/vipu-simulator/service.h"

#include "cmd/vipu-simulator/call.h"

namespace simulator {

using vipu::simulator::Fault;
using vipu::simulator::FaultPlan;

void Faults::replace(FaultPlan plan) {
  const std::lock_guard lock(mutex_);
  plan_ = std::move(plan);
}

std::optional<Fault> Faults::hit(std::string_view call, std::string_view partition) {
  const std::lock_guard lock(mutex_);
  return plan_.hit(call, partition);
}

grpc::ServerGenericBidiReactor* Service::CreateReactor(
    grpc::GenericCallbackServerContext* context) {
  return new Call(shared_, context);  // a Call deletes itself
}

}  // namespace simulator
