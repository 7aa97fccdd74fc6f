// SPDX-License-Identifier: Apache-2.0
// The entry point of all RPCs: authentication, faults, the call itself, and its log line.
#pragma once

#include <grpcpp/generic/async_generic_service.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include "cmd/vipu-simulator/call_log.h"
#include "cmd/vipu-simulator/model/faults.h"
#include "cmd/vipu-simulator/model/users.h"
#include "cmd/vipu-simulator/shared_model.h"

namespace simulator {

// The fault plan in force, shared between threads.
class Faults {
 public:
  void replace(vipu::simulator::FaultPlan plan);
  std::optional<vipu::simulator::Fault> hit(std::string_view call, std::string_view partition);

 private:
  std::mutex mutex_;
  vipu::simulator::FaultPlan plan_;
};

// Names of the gRPC metadata for user and access key.
struct Credentials {
  std::string user_metadata;
  std::string key_metadata;
};

// What all calls share, across restarts of the gRPC server.
struct Shared {
  SharedModel& store;
  CallLog& log;
  Faults& faults;
  std::optional<vipu::simulator::Users> users;  // unset: every user may do everything
  Credentials credentials;
  std::atomic<int> calls{0};  // calls in progress
};

class Service final : public grpc::CallbackGenericService {
 public:
  explicit Service(Shared& shared) : shared_(shared) {}
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override;

 private:
  Shared& shared_;
};

}  // namespace simulator
