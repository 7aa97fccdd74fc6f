// SPDX-License-Identifier: Apache-2.0
// Whose each partition is, by this host's ledger and by what its fleet's store says of others.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cmd/ipuctl/page/page.h"
#include "hook/config/config.h"
#include "hook/ledger/ledger.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/open_fleet.h"
#include "vipu/types.h"

namespace ipuctl {

struct Books {
  // What the IPUs of a partition are, by its pool and name.
  std::map<std::pair<std::string, std::string>, page::Ipu> partitions = {};
  // Containers first, then reservations that no container uses; this host's before the others'.
  std::vector<page::Holding> holdings = {};
};

// Adds what LEDGER says. The containers of WAITING, which are in the queue, have nothing yet.
base::Status add_own_books(hook::ledger::Ledger& ledger,
                           const std::vector<hook::ledger::Waiter>& waiting, Books& books);
// Adds what the other hosts of FLEET have, whose requests in WAITING have nothing yet. ME is the
// tag of this host. What cannot be read is in OBSTACLES.
void add_fleet_books(const hook::lifecycle::OpenFleet& fleet, const std::string& me,
                     const std::vector<hook::ledger::Waiter>& waiting, Books& books,
                     std::vector<base::Error>& obstacles);

// Returns POOL as SURVEY shows it, with whose its partitions are by BOOKS. DRAINED: what is free of
// this host's own IPUs gets no container.
[[nodiscard]] page::Pool map_of(const hook::config::PoolConfig& pool, const vipu::Survey& survey,
                                const Books& books, bool drained);

}  // namespace ipuctl
