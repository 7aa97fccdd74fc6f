// SPDX-License-Identifier: Apache-2.0
// What the program confinement-filters made of the lists when the product was built.
#pragma once

#include <linux/filter.h>

#include <array>
#include <span>

#include "hook/confinement/lists/phases.h"

namespace hook::confinement::internal {

// The filters, in the order of kPhases.
extern const std::array<std::span<const sock_filter>, kPhases.size()> kFilters;

// The name of each system call of this architecture, by its number; a null pointer where there is
// none.
extern const std::span<const char* const> kCallNames;

}  // namespace hook::confinement::internal
