// SPDX-License-Identifier: Apache-2.0
// Call: one RPC from its request to its end. It waits without a thread, so that a hanging call
// delays no other.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/generic/async_generic_service.h>

#include <chrono>
#include <mutex>
#include <optional>
#include <string>

#include "cmd/vipu-simulator/methods.h"
#include "cmd/vipu-simulator/service.h"

namespace simulator {

// One call. It deletes itself when gRPC is done with it.
class Call final : public grpc::ServerGenericBidiReactor {
 public:
  Call(Shared& shared, grpc::GenericCallbackServerContext* context);
  ~Call() override;

  void OnReadDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override { delete this; }

 private:
  using Step = void (Call::*)();

  base::Result<vipu::simulator::Access> authenticate();
  void begin();
  void carry_out();
  void answer(const Answer& answer);
  // Continues with NEXT after DELAY; without DELAY never. A client that gives up ends the call
  // earlier.
  void wait(std::optional<std::chrono::milliseconds> delay, Step next);
  void reply(const std::string& bytes);
  void end(const grpc::Status& status);
  void log(const grpc::Status& status) const;

  Shared& shared_;
  grpc::GenericCallbackServerContext* context_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  grpc::ByteBuffer buffer_;  // the request, then the reply
  std::string request_;
  const Method* method_ = nullptr;
  std::string user_;
  std::string partition_;
  vipu::simulator::Access access_ = vipu::simulator::Access::to_all();
  std::optional<vipu::simulator::Fault> fault_;

  std::mutex mutex_;  // guards the following members
  std::optional<grpc::Alarm> alarm_;
  bool is_cancelled_ = false;
};

}  // namespace simulator
