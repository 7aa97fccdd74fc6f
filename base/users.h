// SPDX-License-Identifier: Apache-2.0
// Lookup of users by name for static programs, which have no name service.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/process.h"
#include "base/result.h"

namespace base {

// Returns the credentials of user NAME in PASSWD_FILE (passwd(5)), or nothing if the user or the
// file is absent. As in libc, the first line with the name counts. Returns kInvalid with the line
// number if that line is malformed, or if its uid or gid is 0, because the caller means to give up
// privileges.
Result<std::optional<Credentials>> find_user(std::string_view name,
                                             const std::string& passwd_file = "/etc/passwd");

}  // namespace base
