// SPDX-License-Identifier: Apache-2.0
// A page of a large site, for the tests of its text and for those in a browser.
#pragma once

#include "cmd/ipuctl/page/page.h"

namespace test {

// Names as whoever attacks would choose them.
inline constexpr const char* kScriptName = "<script>document.title='taken'</script>";
inline constexpr const char* kQuotesName = "\"' onmouseover='alert(1)' x=\"";
inline constexpr const char* kTurnedName = "job-\u202Egpj.exe";
inline constexpr const char* kImageName = "<img src=http://127.0.0.1:9/x onerror=alert(1)>";

// Returns a page with so many leases, on pools of 1024 IPUs, of 8 cards, and one that does not
// answer; with all states, hostile names, and 30 days.
[[nodiscard]] ipuctl::page::Page sample_page(size_t leases);

}  // namespace test
