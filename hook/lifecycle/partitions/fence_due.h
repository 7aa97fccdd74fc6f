// SPDX-License-Identifier: Apache-2.0
// fence = "auto": fences a host that was suspect for long enough, if the site's witness says that
// it is off. hook/fleet/suspects.h says when.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hook/config/config.h"
#include "hook/fleet/hosts.h"
#include "hook/fleet/suspects.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::partitions {

// A witness has so long to answer.
inline constexpr std::chrono::seconds kWitnessTime{20};

enum class Power { kOff, kOn };
// Returns whether a host is surely off, or on. An error: it does not know.
using Witness = std::function<base::Result<Power>(const fleet::HostState& host)>;
// Runs PROGRAM as PROGRAM TAG NAME: status 0 means off, 1 means on. Fails with kInternal at any
// other end, with kTimeout if there is none in time, and with kDenied if others than root can
// change the program or its directory. It has root's rights, a plain PATH, no input, and nothing
// reads what it prints.
base::Result<Power> ask_witness(const std::string& program, const fleet::HostState& host);

// Now, in ms of this boot's steady clock.
struct Moment {
  std::string boot;
  int64_t steady_ms = 0;
};
base::Result<Moment> this_moment();

// What this host knows of its fleet's suspects.
struct Suspects {
  fleet::Observation seen;
  fleet::Due due;
  std::vector<std::string> unfinished = {};  // tags of hosts whose fences were cut short
};
// Looks at the fleet, and changes nothing. Fails with kUnsupported if this host does not fence by
// itself. If a record cannot be read, no host is due, and OBSTACLES say why.
base::Result<Suspects> find_suspects(Env& env, const Moment& now,
                                     std::vector<base::Error>& obstacles);

// Looks at the fleet, and remembers what it saw. Goes on with one fence that was cut short; if
// there is none, it asks WITNESS about one host at most, and fences that host if it is off. If it
// is on, it was heard of, and its suspicion begins anew: it may be off for a moment, because it
// starts again. Both fences do what fence_host() does. Returns what was done, a line each.
// OBSTACLES of a fence that has begun are kInternal: it is not finished, and its host is dead for
// the fleet. So is that of a witness that does not answer.
base::Result<std::vector<std::string>> fence_due(Env& env,
                                                 const std::vector<config::PoolConfig>& pools,
                                                 const Moment& now, const Witness& witness,
                                                 std::vector<base::Error>& obstacles);

}  // namespace hook::lifecycle::partitions
