// SPDX-License-Identifier: Apache-2.0
// What the report's page shows of this moment: the pools' IPUs, who has them, and who waits.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/ipuctl/page/page.h"
#include "cmd/ipuctl/report.h"
#include "hook/ledger/ledger.h"

namespace ipuctl {

struct Now {
  std::vector<page::Pool> pools = {};
  std::vector<page::Waiting> queue = {};
  std::vector<page::Holding> holdings = {};
  std::string drained = {};  // since when and why; empty: this host is not
};

// Looks at it. A pool that does not answer is there with its trouble, and in OBSTACLES. What the
// fleet does not tell is in OBSTACLES, too. LEDGER is no copy if this host is in a fleet.
base::Result<Now> look_now(hook::ledger::Ledger& ledger, Scope scope,
                           std::vector<base::Error>& obstacles);

// Returns REPORT and NOW as a page, which is without what OBSTACLES say.
[[nodiscard]] page::Page report_page(const Report& report, Now now,
                                     const std::vector<base::Error>& obstacles);

}  // namespace ipuctl
