// SPDX-License-Identifier: Apache-2.0
// The calls of a V-IPU controller over the model: a request as bytes in, a reply as bytes out.
#pragma once

#include <grpcpp/support/status.h>

#include <optional>
#include <string>
#include <string_view>

#include "cmd/vipu-simulator/model/record.h"
#include "cmd/vipu-simulator/model/users.h"
#include "cmd/vipu-simulator/store.h"

namespace simulator {

// Who calls, and on what.
struct Caller {
  Store& store;
  const vipu::simulator::Access& access;
  const vipu::simulator::Outcome& outcome;  // of what is created or reset
};

struct Answer {
  grpc::Status status;
  std::string bytes = {};  // of the reply, if the status is OK
};

struct Method {
  const char* path;  // "/virmgrpc.UserService/CreatePartition"
  // The partition that REQUEST is about, empty if it is about none; nothing if REQUEST is no
  // message of this method.
  std::optional<std::string> (*partition_of)(const std::string& request);
  Answer (*answer)(const Caller& caller, const std::string& request);

  // "CreatePartition"
  [[nodiscard]] std::string_view name() const {
    const std::string_view text(path);
    return text.substr(text.rfind('/') + 1);
  }
};

// Nothing if there is no such method.
[[nodiscard]] const Method* find_method(std::string_view path);

}  // namespace simulator
