// SPDX-License-Identifier: Apache-2.0
#include "cmd/vipu-simulator/model/users.h"

#include <algorithm>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "vipu/wire_fields.h"

namespace vipu::simulator {

using namespace base::names;
using base::Json;

namespace {

constexpr size_t kMaxKey = 256;
constexpr size_t kMaxUsers = 1000;

// Compares the same number of bytes whatever their content, so that the time reveals nothing.
bool is_equal(std::string_view secret, std::string_view given) {
  volatile unsigned difference = secret.size() == given.size() ? 0 : 1;
  for (size_t i = 0; i < kMaxKey; ++i) {
    const unsigned a = i < secret.size() ? static_cast<unsigned char>(secret[i]) : 0;
    const unsigned b = i < given.size() ? static_cast<unsigned char>(given[i]) : 0;
    difference = difference | (a ^ b);
  }
  return difference == 0;
}

bool has_allocation(const Pod& pod, const std::string& name) {
  return std::any_of(pod.allocations.begin(), pod.allocations.end(),
                     [&](const Allocation& allocation) { return allocation.name == name; });
}

Result<Access> parse_access(const wire::Fields& user, const Pod& pod) {
  if (!user.has("allocations")) return Access::to_all();
  std::set<std::string> names;
  const Json* list = TRY(user.array("allocations", pod.allocations.size()));
  for (const Json& name : *list) {
    if (!name.is_string() || !has_allocation(pod, name.get<std::string>())) {
      return user.wrong("allocations", str("of names of allocations of ", pod.name));
    }
    names.insert(name.get<std::string>());
  }
  return Access::to(std::move(names));
}

Status check_keys(const Json& user, const std::string& name) {
  for (const auto& [key, value] : user.items()) {
    if (key == "key" || key == "allocations") continue;
    return Error(Code::kInvalid, str("user ", base::quote(name), ": key ", base::quote(key),
                                     " is unknown: use key or allocations"));
  }
  return {};
}

}  // namespace

Result<Users> Users::parse(std::string_view text, const Pod& pod) {
  const Json json = TRY(base::parse_json(text, "users"));
  if (!json.is_object() || json.empty() || json.size() > kMaxUsers) {
    return Error(Code::kInvalid, str("users: is not a JSON object of 1 to ", kMaxUsers, " users"));
  }
  Users users;
  for (const auto& [name, value] : json.items()) {
    const wire::Fields user = TRY(wire::Fields::open(value, str("user ", base::quote(name))));
    TRY(check_keys(value, name));
    std::string key = TRY(user.text("key", kMaxKey));
    if (key.empty()) return user.wrong("key", "a key of at least one character");
    Access access = TRY(parse_access(user, pod));
    users.users_.emplace(name, User{std::move(key), std::move(access)});
  }
  return users;
}

Result<Access> Users::authenticate(std::string_view name, std::string_view key) const {
  const auto user = users_.find(name);
  const bool known = user != users_.end();
  // An unknown user's key is compared too, so that the time does not reveal which names exist.
  const bool right = is_equal(known ? user->second.key : std::string_view(), key);
  if (!known || !right) return Error(Code::kDenied, "unknown user or wrong access key");
  return user->second.access;
}

}  // namespace vipu::simulator
