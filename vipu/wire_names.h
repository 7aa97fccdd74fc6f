// SPDX-License-Identifier: Apache-2.0
// Enumerations, read and written by the names of their values.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "vipu/types.h"
#include "vipu/wire_fields.h"

namespace vipu::wire {

// Returns NAME of each value from the first one to LAST, in their order. The first value of VALUE
// is 0, and each of the others follows the one before.
template <typename Value>
std::vector<std::string> names_up_to(Value last, const char* (*name)(Value)) {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(last); ++i) names.emplace_back(name(static_cast<Value>(i)));
  return names;
}

// Returns the names of all values of VALUE, in their order.
template <typename Value>
const std::vector<std::string>& names_of();
template <>
const std::vector<std::string>& names_of<ReadyState>();
template <>
const std::vector<std::string>& names_of<OperationState>();
template <>
const std::vector<std::string>& names_of<LinkRouting>();
template <>
const std::vector<std::string>& names_of<GatewayRouting>();
template <>
const std::vector<std::string>& names_of<SyncType>();

// Returns the VALUE that the member KEY names, or kInvalid.
template <typename Value>
base::Result<Value> parse_choice(const Fields& fields, const char* key) {
  return static_cast<Value>(TRY(fields.choice(key, names_of<Value>())));
}

}  // namespace vipu::wire
