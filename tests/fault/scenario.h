// SPDX-License-Identifier: Apache-2.0
// The things that a program of the product does, each from the start state that it needs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tests/fault/program.h"
#include "tests/fault/world.h"

namespace fault {

struct Scenario {
  std::string name;  // "hook-create"
  Bystander bystander = Bystander::kYes;
  Settings settings = {};
  // Brings up the start state; what is to be traced from there.
  std::function<base::Result<Program>(World&)> prepare;
  // What is wrong with what the program left, although it exited with 0; empty: nothing.
  std::function<base::Result<std::string>(World&)> check_promise;
  // The same for what must be true wherever the run was cut. Empty: nothing but the invariants.
  std::function<base::Result<std::string>(World&)> check_always = {};
  // What another container asks for after all that, and gets.
  std::optional<Ask> again = {};
};

[[nodiscard]] const std::vector<Scenario>& scenarios();

// Of one folder of programs each; scenarios() is all of them.
[[nodiscard]] std::vector<Scenario> create_scenarios();
[[nodiscard]] std::vector<Scenario> hook_scenarios();
[[nodiscard]] std::vector<Scenario> control_scenarios();
[[nodiscard]] std::vector<Scenario> fleet_scenarios();
[[nodiscard]] std::vector<Scenario> claim_scenarios();
[[nodiscard]] std::vector<Scenario> share_scenarios();
[[nodiscard]] std::vector<Scenario> copy_scenarios();

}  // namespace fault
