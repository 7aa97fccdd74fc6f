// SPDX-License-Identifier: Apache-2.0
// The fleet of this host, ready to be asked.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "hook/config/config.h"
#include "hook/fleet/partitions.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle {

// An open store, with the configuration to which it belongs.
struct OpenFleet {
  config::FleetConfig config;
  std::unique_ptr<fleet::Store> store;
  std::string id = {};    // of the fleet that this host has joined there; empty: none yet
  fleet::Mark mark = {};  // of this host

  // Each call ends after 5 s, or by DEADLINE.
  [[nodiscard]] fleet::Fleet at(const base::Deadline& deadline) const;
  // Each call has 5 s of its own: what others were asked before may have used all of the time.
  [[nodiscard]] fleet::Fleet at_last() const;
};

// Returns the last mark that LEDGER remembers of this host in fleet ID below PREFIX.
base::Result<fleet::Mark> known_mark(const ledger::Ledger& ledger, const std::string& prefix,
                                     const std::string& id);

// Opens the fleet of this host; nothing if it is in none.
base::Result<std::optional<OpenFleet>> open_fleet(const Env& env);
// Opens the fleet with this prefix. Fails with kUnsupported if this host is not in it any more.
base::Result<OpenFleet> open_fleet(const Env& env, const std::string& prefix);

}  // namespace hook::lifecycle
