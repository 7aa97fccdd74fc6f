// SPDX-License-Identifier: Apache-2.0
// What a tenant's share may be, for all that sets one: [[tenant]], and 'ipuctl tenant set'.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hook/config/tenant.h"

namespace hook::config {

inline constexpr uint32_t kMostTenantNumber = 10'000;  // of IPUs, and of places in the queue
inline constexpr std::chrono::milliseconds kLongestBorrowTime = std::chrono::hours(365 * 24);
inline constexpr std::chrono::milliseconds kLongestTenantWait = std::chrono::hours(24);

// A value that no tenant may have: its key in the table, and what is accepted, for "KEY must be
// ...".
struct TenantFault {
  std::string_view key;
  std::string accepted;
};
// Returns the first such value of TENANT; unset if there is none. The users are not looked at.
[[nodiscard]] std::optional<TenantFault> find_fault(const TenantConfig& tenant);

}  // namespace hook::config
