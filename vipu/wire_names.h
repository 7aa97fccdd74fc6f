// SPDX-License-Identifier: Apache-2.0
// Enumerations as the names of their values.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "vipu/types.h"
#include "vipu/wire_fields.h"

namespace vipu::wire {

// The names of all values of VALUE, in their order.
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

// The member KEY, which names a value of VALUE; kInvalid otherwise.
template <typename Value>
base::Result<Value> parse_choice(const Fields& fields, const char* key) {
  return static_cast<Value>(TRY(fields.choice(key, names_of<Value>())));
}

}  // namespace vipu::wire
