// SPDX-License-Identifier: Apache-2.0
// The users of a secure controller, and the parts of its POD that they may use.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "cmd/vipu-simulator/model/pod.h"

namespace vipu::simulator {

// The allocations that a caller may use.
class Access {
 public:
  static Access to_all() { return {}; }
  static Access to(std::set<std::string> allocations) {
    Access access;
    access.is_limited_ = true;
    access.allocations_ = std::move(allocations);
    return access;
  }

  [[nodiscard]] bool covers(const std::string& allocation) const {
    return !is_limited_ || allocations_.contains(allocation);
  }

 private:
  Access() = default;
  bool is_limited_ = false;
  std::set<std::string> allocations_;  // if limited
};

class Users {
 public:
  // Parses {"alice":{"key":"...","allocations":["alloc-1"]}}; without a list, all allocations.
  // Returns kInvalid with what is wrong, never with a key.
  static base::Result<Users> parse(std::string_view text, const Pod& pod);

  // Returns the access of the user with this name and key. Returns kDenied, with the same words for
  // a wrong name and a wrong key. The time does not depend on how much of the key is right.
  base::Result<Access> authenticate(std::string_view name, std::string_view key) const;

 private:
  struct User {
    std::string key;
    Access access;
  };
  std::map<std::string, User, std::less<>> users_;
};

}  // namespace vipu::simulator
