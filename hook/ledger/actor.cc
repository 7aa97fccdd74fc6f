// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/actor.h"

#include <unistd.h>

#include <array>
#include <climits>

#include "base/users.h"

namespace hook::ledger {
namespace {

std::string own_program() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  return length > 0 ? std::string(path.data(), static_cast<size_t>(length)) : "?";
}

}  // namespace

const Actor& current_actor() {
  static const Actor self{::getuid(), base::user_who_logged_in(), own_program()};
  return self;
}

int64_t user_who_logged_in() {
  const std::optional<uint32_t> user = current_actor().loginuid;
  return user ? int64_t{*user} : -1;
}

}  // namespace hook::ledger
