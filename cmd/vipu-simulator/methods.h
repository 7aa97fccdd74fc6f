// SPDX-License-Identifier: Apache-2.0
// The calls of a V-IPU controller on the model: request bytes in, reply bytes out.
#pragma once

#include <grpcpp/support/status.h>

#include <optional>
#include <string>
#include <string_view>

#include "cmd/vipu-simulator/model/record.h"
#include "cmd/vipu-simulator/model/users.h"
#include "cmd/vipu-simulator/shared_model.h"

namespace simulator {

// The context of a call.
struct Caller {
  SharedModel& store;
  const vipu::simulator::Access& access;
  const vipu::simulator::Outcome& outcome;  // for what is created or reset
};

struct Answer {
  grpc::Status status;
  std::string bytes = {};  // the reply, if the status is OK
};

struct Method {
  const char* path;  // "/virmgrpc.UserService/CreatePartition"
  // Returns the partition that REQUEST is about, empty if none; nothing if REQUEST is not a message
  // of this method.
  std::optional<std::string> (*partition_of)(const std::string& request);
  Answer (*answer)(const Caller& caller, const std::string& request);

  // Returns "CreatePartition".
  [[nodiscard]] std::string_view name() const {
    const std::string_view text(path);
    return text.substr(text.rfind('/') + 1);
  }
};

// Returns the method, or nothing if there is none.
[[nodiscard]] const Method* find_method(std::string_view path);

}  // namespace simulator
