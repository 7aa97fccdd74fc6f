// SPDX-License-Identifier: Apache-2.0
// Who changes the ledger, for its history: this process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace hook::ledger {

struct Actor {
  uid_t uid = 0;
  std::optional<uint32_t> loginuid;  // who logged in, also after sudo; unset: a service
  std::string program;               // absolute path
};

// Looked up once a process.
[[nodiscard]] const Actor& current_actor();

}  // namespace hook::ledger
