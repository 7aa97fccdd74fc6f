// SPDX-License-Identifier: Apache-2.0
// The values of the product's keys: what of each is accepted.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hook/config/config.h"

namespace hook::request {

// One key as it was given. NAME is the user's spelling.
struct Given {
  std::string_view name;
  std::string value;
  bool annotated = false;  // false: it is a variable of the environment
};

inline constexpr std::string_view kAllGcds = "all";

// Returns kInvalid: it names the key, its value, and what is accepted.
[[nodiscard]] base::Error refused(const Given& given, std::string_view accepted);

base::Result<uint32_t> parse_count(const Given& given, const config::PolicyConfig& policy);
base::Result<uint32_t> parse_gcd(const Given& given);
// Parses "0,2-3" as 0, 2, 3. Each card may occur once.
base::Result<std::vector<uint32_t>> parse_cards(const Given& given);

enum class Flag : bool { kNo, kYes };
base::Result<Flag> parse_flag(const Given& given);  // 0 or 1

// The longest wait for IPUs, and the key that says so.
struct WaitLimit {
  std::string_view key;
  std::chrono::milliseconds time;
};
[[nodiscard]] WaitLimit wait_limit(const config::PolicyConfig& policy, bool is_of_pod);
base::Result<std::chrono::milliseconds> parse_wait(const Given& given, const WaitLimit& limit);

}  // namespace hook::request
