// SPDX-License-Identifier: Apache-2.0
// The users that run ipu-vipu-client and ipu-vipu-endpoint, and whether the client may hold
// secrets.
#pragma once

#include <string>

#include "base/process.h"
#include "base/result.h"
#include "hook/config/config.h"

namespace hook::lifecycle {

struct ClientUser {
  base::Credentials credentials;
  // Success if no other program runs as this user. Else kDenied with the reason and what to do:
  // other processes of the user may come near the client's memory.
  base::Status is_its_own;
};

// Returns the user ipu-vipu-client of PASSWD_FILE, or `nobody` if that has no usable one.
[[nodiscard]] ClientUser client_user(const std::string& passwd_file = "/etc/passwd");

// Does the same for ipu-vipu-endpoint, which has no secrets.
[[nodiscard]] ClientUser endpoint_user(const std::string& passwd_file = "/etc/passwd");

// Returns whether the client gets credentials or the key of a certificate of a pool.
[[nodiscard]] bool has_secrets(const config::ControllerSecurity& security);

}  // namespace hook::lifecycle
