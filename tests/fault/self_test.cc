// SPDX-License-Identifier: Apache-2.0
#include "tests/fault/self_test.h"

#include <cerrno>
#include <chrono>

#include "base/clock.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/config/paths.h"
#include "tests/fault/enumerate.h"
#include "tests/fault/places.h"
#include "tests/fault/stand_in.h"

namespace fault {

using namespace base::names;

namespace {

// The form of a lease's id, of which there is none.
constexpr const char* kNoLease = "0123456789abcdef0123456789abcdef";

Program stand_in_program(const std::string& what, const std::string& directory) {
  return {kHarness, {"stand-in", what, directory}};
}

// A scenario in which the stand-in does WHAT in the directory that FIND names.
Scenario scenario_of(const std::string& what, std::function<std::string(World&)> find) {
  const auto prepare = [what, find = std::move(find)](World& world) -> Result<Program> {
    return stand_in_program(what, find(world));
  };
  const auto nothing = [](World&) -> Result<std::string> { return std::string(); };
  return {what, Bystander::kYes, {}, prepare, nothing};
}

std::string directory_without_lease(World&) {
  return str(hook::config::run_dir(), "/leases/", kNoLease);
}

std::string files_of_bystander(World& world) {
  return str(hook::config::run_dir(), "/leases/", world.bystander_lease());
}

// What the violations of a run begin with, in order; "" for none.
Result<std::string> violations_of(const Scenario& scenario, const Plan& plan) {
  World world;
  TRY(world.rebuild(scenario.bystander));
  const Run run = TRY(run_once(world, scenario, plan));
  return base::join(run.findings.violations, "\n");
}

Result<std::string> numbers_every_effect() {
  const Trace trace = TRY(fault::trace(stand_in_program("calls", kScratch), {}, {kScratch},
                                       Deadline::after(std::chrono::seconds(10)), Calls::kKeep));
  if (!trace.ended.succeeded()) return str("it ended with ", status_text(trace.ended.status));
  const std::vector<std::vector<std::string>> known = known_calls(kScratch);
  if (trace.processes.size() != known.size()) return str(trace.processes.size(), " processes");
  for (size_t p = 0; p < known.size(); ++p) {
    const std::string seen = base::join(trace.processes[p].calls, ", ");
    if (seen != base::join(known[p], ", ")) return str("process ", p + 1, " made: ", seen);
  }
  return std::string();
}

// Each run must find WANTED, or nothing if that is empty.
Result<std::string> expect(const Scenario& scenario, const Plan& plan, const std::string& wanted) {
  const std::string found = TRY(violations_of(scenario, plan));
  const bool ok = wanted.empty() ? found.empty() : found.find(wanted) != std::string::npos;
  return ok ? std::string() : str("found '", found, "' and not '", wanted, "'");
}

Result<std::string> finds_a_leak() {
  const Scenario leak = scenario_of("leak", directory_without_lease);
  const struct {
    Plan plan;
    const char* wanted;
  } cuts[] = {{{Cut::kNone, 0, {}}, ""},
              {{Cut::kKillBefore, 0, {"1", 1}}, ""},
              {{Cut::kKillAfter, 0, {"1", 1}}, "no live lease leads to directory"},
              {{Cut::kKillBefore, 0, {"1", 2}}, "no live lease leads to directory"},
              {{Cut::kKillAfter, 0, {"1", 2}}, ""},
              {{Cut::kFail, EIO, {"1", 2}}, "no live lease leads to directory"}};
  for (const auto& cut : cuts) {
    const std::string wrong = TRY(expect(leak, cut.plan, cut.wanted));
    if (!wrong.empty()) return wrong;
  }
  return std::string();
}

Result<std::string> finds_a_failure_without_a_word() {
  return expect(scenario_of("silent", directory_without_lease), {}, "0 lines on standard error");
}

Result<std::string> finds_a_changed_bystander() {
  const Scenario scenario = scenario_of("touch", files_of_bystander);
  const std::string whole = TRY(expect(scenario, {}, ""));
  if (!whole.empty()) return whole;
  return expect(scenario, {Cut::kKillAfter, 0, {"1", 1}}, "the bystander changed");
}

Result<std::string> numbers_until_the_end() {
  World world;
  const Scenario leak = scenario_of("leak", directory_without_lease);
  size_t said = 0;
  const auto count_lines = [&](const std::string&) { ++said; };
  const Variant after{"kill-after", Cut::kKillAfter, 0};
  const Count count = TRY(enumerate(world, leak, after, {}, count_lines));
  const bool ok = count.points == 2 && count.runs == 3 && count.violations > 0 && said > 0;
  return ok ? std::string() : str(count.points, " points, ", count.runs, " runs");
}

Result<std::string> takes_each_point_once() {
  World world;
  const Scenario leak = scenario_of("leak", directory_without_lease);
  const Variant before{"kill-before", Cut::kKillBefore, 0};
  size_t points = 0;
  for (size_t first = 1; first <= 3; ++first) {
    Choice choice;
    choice.every = 3;
    choice.first = first;
    const Count count = TRY(enumerate(world, leak, before, choice, [](const std::string&) {}));
    if (count.runs != count.points + 1) return str(count.runs, " runs from ", first, " on");
    points += count.points;
  }
  return points == 2 ? std::string() : str(points, " points, and not 2");
}

}  // namespace

Status self_test(const std::function<void(const std::string&)>& say) {
  const struct {
    const char* name;
    Result<std::string> (*test)();
  } tests[] = {{"numbers every call with an effect, and no other", numbers_every_effect},
               {"numbers until the program ends", numbers_until_the_end},
               {"takes each point of a whole run once, in parts", takes_each_point_once},
               {"finds what no row leads to", finds_a_leak},
               {"finds a failure without a word", finds_a_failure_without_a_word},
               {"finds a bystander that was changed", finds_a_changed_bystander},
               {"finds mistakes in a fleet", finds_mistakes_in_a_fleet}};
  size_t failed = 0;
  for (const auto& test : tests) {
    const Result<std::string> wrong = test.test();
    const std::string why = wrong.ok() ? wrong.value() : wrong.error().message();
    if (!why.empty()) ++failed;
    say(str(why.empty() ? "ok" : "not ok", " the harness ", test.name));
    if (!why.empty()) say(str("# ", base::one_line(why, 500)));
  }
  if (failed == 0) return {};
  return Error(Code::kInternal, str(failed, " tests of the harness failed"));
}

}  // namespace fault
