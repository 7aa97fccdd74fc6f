// SPDX-License-Identifier: Apache-2.0
// The map of the pools' IPUs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cmd/ipuctl/page/page.h"

namespace ipuctl::page {

// How a tenant is marked on the map: by a letter, and by one of kColours colours. Those that have
// fewer IPUs than so many others have share one more colour, and beyond 26 the mark "+".
struct Mark {
  std::string letter;
  size_t colour = 0;
};
inline constexpr size_t kColours = 7;
using Marks = std::map<std::string, Mark>;

// Returns the marks of all tenants of POOLS: first those with the most IPUs, then by name.
[[nodiscard]] Marks marks_of(const std::vector<Pool>& pools);

// Returns "Held".
[[nodiscard]] const char* name_of(State state);

// Returns the maps of all pools, what their marks mean, and the tables behind them.
[[nodiscard]] std::string maps_html(const std::vector<Pool>& pools);

}  // namespace ipuctl::page
