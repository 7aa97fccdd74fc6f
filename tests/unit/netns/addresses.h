// SPDX-License-Identifier: Apache-2.0
// Addresses by their text.
#pragma once

#include "netns/address.h"

namespace netns {

inline Address ip(const char* text) { return parse_address(text).take(); }

}  // namespace netns
