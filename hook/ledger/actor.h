// SPDX-License-Identifier: Apache-2.0
// The actor that the history records for each change: this process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace hook::ledger {

struct Actor {
  uid_t uid = 0;
  std::optional<uint32_t> loginuid;  // the user who logged in, also after sudo; unset: a service
  std::string program;               // absolute path
};

// Returns the actor, which is looked up once per process.
[[nodiscard]] const Actor& current_actor();

// Returns the actor's loginuid; -1 if it has none.
[[nodiscard]] int64_t user_who_logged_in();

}  // namespace hook::ledger
