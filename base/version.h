// SPDX-License-Identifier: Apache-2.0
// The version of the product.
#pragma once

#include <string>

namespace base {

[[nodiscard]] std::string product_version();  // "0.1.0"

}  // namespace base
