// SPDX-License-Identifier: Apache-2.0
// Users by name, for static programs, which have no name service.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/process.h"
#include "base/result.h"

namespace base {

// The user NAME of PASSWD_FILE (passwd(5)), to run a program as; nothing if there is no such user
// or no such file. As in libc the first line of a name counts. kInvalid, with the number of the
// line, if that line is malformed, or if its uid or gid is 0: the caller means to give up
// privileges.
Result<std::optional<Credentials>> find_user(std::string_view name,
                                             const std::string& passwd_file = "/etc/passwd");

}  // namespace base
