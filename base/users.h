// SPDX-License-Identifier: Apache-2.0
// Users: by name for static programs, which have no name service; and whether one is root.
#pragma once

#include <sys/types.h>

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

// Returns the gid of group NAME in GROUP_FILE (group(5)), or nothing if the group or the file is
// absent. Returns kInvalid with the line number if its line is malformed, or if its gid is 0.
Result<std::optional<gid_t>> find_group(std::string_view name,
                                        const std::string& group_file = "/etc/group");

// Returns the name of user UID in PASSWD_FILE; empty if it does not say.
[[nodiscard]] std::string name_of_user(uid_t uid, const std::string& passwd_file = "/etc/passwd");

// Returns the user who logged in, also after su and sudo, by the kernel (/proc/self/loginuid);
// nothing if nobody did, as for a service.
[[nodiscard]] std::optional<uid_t> user_who_logged_in();

// Returns whether SUBUID_FILE (subuid(5)) lends UID to somebody, who can then become this user in a
// user namespace. False if there is no such file; true if it cannot be read.
[[nodiscard]] bool is_lent(uid_t uid, const std::string& subuid_file = "/etc/subuid");

// Returns whether UID, the owner of a file, is root. In a user namespace (user_namespaces(7)) the
// host's root looks like every user who is not mapped there, and all of them count.
[[nodiscard]] bool is_root(uid_t uid);

// Returns the effective user of this process as the parent of its user namespace sees it: 1000 for
// the root of a rootless engine of user 1000. In the first namespace, this is the user itself.
[[nodiscard]] uid_t user_of_host();

// Does the same for user UID by UID_MAP, a text like that of /proc/self/uid_map. Returns UID if the
// map does not have it.
[[nodiscard]] uid_t user_outside(uid_t uid, std::string_view uid_map);

// Returns whether the users of this process are those of the host: it is in the first user
// namespace, or in one that has all users as they are. Otherwise user_of_host() may be a user of a
// user namespace in between, whose root can be anybody.
[[nodiscard]] bool has_users_of_host();

// Does the same for a process with UID_MAP that is not in the first user namespace.
[[nodiscard]] bool has_all_users(std::string_view uid_map);

}  // namespace base
