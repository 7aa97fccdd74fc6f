// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/actor.h"

#include <unistd.h>

#include <array>
#include <climits>
#include <limits>

#include "base/fs.h"
#include "base/text.h"

namespace hook::ledger {
namespace {

std::optional<uint32_t> find_loginuid() {
  constexpr uint32_t kUnset = std::numeric_limits<uint32_t>::max();
  const base::Result<std::string> text = base::read_file("/proc/self/loginuid", 64);
  if (!text.ok()) return std::nullopt;  // a kernel without audit
  const base::Result<uint32_t> uid = base::parse_int<uint32_t>(base::trim(text.value()), 0, kUnset);
  return uid.ok() && uid.value() != kUnset ? std::optional<uint32_t>(uid.value()) : std::nullopt;
}

std::string own_program() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  return length > 0 ? std::string(path.data(), static_cast<size_t>(length)) : "?";
}

}  // namespace

const Actor& current_actor() {
  static const Actor self{::getuid(), find_loginuid(), own_program()};
  return self;
}

int64_t user_who_logged_in() {
  const std::optional<uint32_t> user = current_actor().loginuid;
  return user ? int64_t{*user} : -1;
}

}  // namespace hook::ledger
