// SPDX-License-Identifier: Apache-2.0
// ClientTest: the built ipu-vipu-client, as its callers run it, and a controller that fails as it
// is told.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "base/clock.h"
#include "tests/support/outcome.h"
#include "tests/unit/cmd/ipu-vipu-client/scripted_server.h"
#include "vipu/process_controller.h"

namespace vipu {

class ClientTest : public testing::Test {
 protected:
  // A name that this product gave, so that a partition of this name is its own.
  static constexpr const char* kOurs = "c-1f2e3d4c-0123456789ab";
  using milliseconds = std::chrono::milliseconds;
  using When = test::Fault::When;

  static std::unique_ptr<Controller> controller_at(const Endpoint& endpoint) {
    return make_process_controller({PROGRAM_DIR "/ipu-vipu-client", endpoint});
  }
  Controller& controller() { return *controller_; }
  test::ScriptedServer& server() { return server_; }

  static base::Deadline soon() { return base::Deadline::after(milliseconds(10'000)); }
  static PartitionRequest four(const std::string& id = kOurs) { return {.id = id, .size = 4}; }

  static test::Fault failing(grpc::StatusCode code, When when = When::kBefore) {
    return {.code = code, .message = "as told", .when = when};
  }
  static test::Fault hanging(When when = When::kBefore) { return {.when = when, .hang = true}; }
  static test::Fault garbage() { return {.garbage = true}; }

  static virmgrpc::PartitionStatus state(virmgrpc::PartitionReadyState ready,
                                         virmgrpc::PartitionOperationState operation) {
    virmgrpc::PartitionStatus status;
    status.set_ready_state(ready);
    status.set_operation_state(operation);
    return status;
  }
  static virmgrpc::Partition partition(const std::string& id, int size) {
    virmgrpc::Partition partition;
    partition.set_id(id);
    partition.set_ready_state(virmgrpc::PS_ACTIVE);
    for (int i = 0; i < size; ++i) partition.mutable_spec()->add_ipus();
    return partition;
  }

 private:
  test::ScriptedServer server_;
  std::unique_ptr<Controller> controller_ = controller_at({server_.address()});
};

}  // namespace vipu
