// SPDX-License-Identifier: Apache-2.0
// A plan as text, and the commands that start it.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cmd/ipuctl/print.h"
#include "vipu/placement.h"
#include "vipu/plan/outlook.h"
#include "vipu/plan/plan.h"

namespace ipuctl {

// What a pool was found to be.
struct PoolSeen {
  std::string name;
  vipu::plan::PoolNow now;
  std::string first;    // who waits first in its queue; empty: nobody
  std::string drained;  // why this host gives no IPUs; empty: it does
  std::string limit;  // "allocation 'a'": of the controller's IPUs, the pool has those in it alone,
                      // and nobody knows which they are; empty: it has all
};

// What decides which commands work.
struct StartPlace {
  std::string pool = {};             // empty: the default one
  bool has_controller = true;        // its partitions can have several GCDs
  bool has_endpoint = true;          // containers may have a V-IPU endpoint, which poprun asks
  bool by_variable = true;           // containers may ask by variables; else by annotations
  bool has_room = true;              // nobody is known to have the IPUs
  std::string wait = {};             // "15m": how long to wait for IPUs; empty: no wait
  std::set<std::string> taken = {};  // names of partitions
  std::string image;
  std::vector<std::string> program;
};

// One way to start a plan: HOW is "process" or "poprun". Each command is in words that a shell
// takes as they are.
struct Start {
  std::string how;
  std::vector<std::string> commands;
};
// Returns the ways that work in PLACE; none for a plan with errors.
[[nodiscard]] std::vector<Start> starts_of(const vipu::plan::Plan& plan, const StartPlace& place);

struct PlanView {
  vipu::plan::Plan plan;
  std::optional<PoolSeen> pool = {};
  std::optional<vipu::plan::Outlook> outlook = {};  // unset: no pool, or none that could hold it
  std::vector<Start> starts = {};
  uint64_t max_ipus = 0;  // policy.max_ipus that the starts need; 0: what there is suffices
};
[[nodiscard]] std::string plan_text(const PlanView& view, Output output);
// Returns why the plan of VIEW cannot start now, as one line; empty if it can, or nobody looked.
[[nodiscard]] std::string why_not_now(const PlanView& view);

}  // namespace ipuctl
