// SPDX-License-Identifier: Apache-2.0
// What happened by day, as drawings with the tables behind them.
#pragma once

#include <string>
#include <vector>

#include "cmd/ipuctl/page/page.h"

namespace ipuctl::page {

[[nodiscard]] std::string utilisation_html(const std::vector<Day>& days);
[[nodiscard]] std::string waits_html(const std::vector<Day>& days);
[[nodiscard]] std::string rooms_html(const std::vector<Day>& days);
// BY: what the name of a refusal is, such as "tenant".
[[nodiscard]] std::string refusals_html(const std::vector<Refusal>& refusals,
                                        const std::string& by);

}  // namespace ipuctl::page
