// SPDX-License-Identifier: Apache-2.0
// One scenario, cut in one way at every point.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tests/fault/inspect.h"
#include "tests/fault/scenario.h"
#include "tests/fault/tracer.h"

namespace fault {

struct Variant {
  std::string name;  // "kill-before", "EIO"
  Cut cut = Cut::kNone;
  int error = 0;
};

[[nodiscard]] const std::vector<Variant>& variants();

struct Run {
  Trace trace;
  Findings findings;
};

// One run of SCENARIO, cut by PLAN, and what it left. The world is as before afterwards.
base::Result<Run> run_once(World& world, const Scenario& scenario, const Plan& plan,
                           Calls calls = Calls::kForget);

struct Count {
  size_t points = 0;
  size_t runs = 0;
  size_t missed = 0;  // points that some run would have come to, and none that was to be cut there
  size_t violations = 0;
  size_t left_in_bundles = 0;
  size_t aborts = 0;
};

// Which points are tried.
struct Choice {
  std::optional<Point> only = {};
  size_t stride = 1;  // of each process each STRIDEth
  // Not 0: of all points that a whole run has, in the order of its processes, each EVERYth, the
  // first of them being number FIRST, from 1. Each point is one of exactly one FIRST.
  size_t every = 0;
  size_t first = 1;
};

// The points of SCENARIO. Those of each process are tried until a run comes to its end before the
// next one. Runs differ a little where two processes meet at the ledger: a point that a longer run
// had is tried again, often, before it counts as missed. SAY gets a line for each violation.
base::Result<Count> enumerate(World& world, const Scenario& scenario, const Variant& variant,
                              const Choice& choice,
                              const std::function<void(const std::string&)>& say);

}  // namespace fault
