// SPDX-License-Identifier: Apache-2.0
#include "tests/fault/enumerate.h"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/clock.h"
#include "base/names.h"
#include "base/text.h"
#include "tests/fault/fleet_inspect.h"
#include "tests/fault/places.h"
#include "tests/fault/processes.h"
#include "tests/fault/promises.h"
#include "vipu/made_name.h"

namespace fault {

using namespace base::names;

namespace {

// Longer than anything that the product waits for.
constexpr std::chrono::seconds kLongest{40};
// Far more than any scenario has points.
constexpr size_t kMostRuns = 10'000;

// Nothing where there is no fleet.
Result<FleetView> fleet_of(const Scenario& scenario) {
  if (!scenario.settings.fleet) return FleetView();
  return read_fleet();
}

Status check(World& world, const Scenario& scenario, Run& run) {
  std::vector<std::string>& found = run.findings.violations;
  inspect_end(run.trace, run.findings);
  const FleetView fleet = TRY(fleet_of(scenario));
  TRY(inspect_invariants(world, warm_names(fleet), run.findings));
  TRY(inspect_fleet(fleet, run.findings));
  // What a program does not do and says on standard error, it has not promised.
  world.note_cut(run.trace.hit.has_value());
  if (run.trace.ended.succeeded() && run.trace.ended.err.empty()) {
    const std::string broken = TRY(scenario.check_promise(world));
    if (!broken.empty()) found.push_back(broken);
  }
  if (scenario.check_always) {
    const std::string wrong = TRY(scenario.check_always(world));
    if (!wrong.empty()) found.push_back(wrong);
  }
  const std::string other = TRY(World::check_other_commands());
  if (!other.empty()) found.push_back(other);
  return {};
}

// What a person does who reads that the creation or the removal of a partition was cut short.
Status remove_unsure(Run& run) {
  const std::optional<LedgerView> ledger = TRY(World::ledger());
  for (const PartitionRow& row : ledger ? ledger->partitions : std::vector<PartitionRow>()) {
    if (row.state == "READY" || vipu::is_unique_name(row.name)) continue;
    const Ended removed = TRY(fault::run(World::ipuctl({"partition", "remove", row.name})));
    if (!removed.succeeded()) {
      run.findings.violations.push_back(
          str("partition remove ", row.name, ": ", base::one_line(removed.err, 300)));
    }
  }
  return {};
}

// Whatever was cut, the fleet has as many warm partitions as it is to have after another refill.
Status refill_again(Run& run) {
  TRY(must_run(World::ipuctl({"pool", "refill"})));
  const FleetView fleet = TRY(read_fleet());
  const std::map<std::string, std::string> partitions = TRY(World::partitions());
  size_t ready = 0;
  for (const auto& [name, phase] : fleet.warm)
    if (phase == "idle" && partitions.contains(name)) ++ready;
  if (ready == 1 && fleet.warm.size() == 1) return {};
  run.findings.violations.push_back(str("after another refill, ", ready, " of ", fleet.warm.size(),
                                        " warm partitions are ready, and not 1 of 1"));
  return {};
}

Status run_gc(Run& run) {
  const Ended gc = TRY(fault::run(World::ipuctl({"gc"})));
  if (!gc.succeeded()) {
    run.findings.violations.push_back(
        str("gc: ", status_text(gc.status), ": ", base::one_line(gc.err, 300)));
  }
  return {};
}

// One gc has been.
Result<FleetView> inspect_all_rest(World& world, const Scenario& scenario, Run& run) {
  FleetView fleet = TRY(fleet_of(scenario));
  if (scenario.settings.fleet) TRY(inspect_fleet_rest(fleet, run.findings));
  TRY(inspect_rest(world, warm_names(fleet), run.trace.killed, run.findings));
  return fleet;
}

// Nobody has what another container asks for, and nothing counts that nobody has.
Status start_again(World& world, const Scenario& scenario, Run& run) {
  constexpr const char* kAgain = "again";
  TRY(world.make_bundle(kAgain, *scenario.again));
  const Ended started = TRY(fault::run(world.create(kAgain)));
  TRY(settle());
  const std::string wrong =
      started.succeeded() ? TRY(check_created(world, kAgain)) : base::one_line(started.err, 300);
  if (!wrong.empty()) run.findings.violations.push_back(str("another start: ", wrong));
  TRY(run_gc(run));
  TRY(inspect_all_rest(world, scenario, run));
  return {};
}

Status give_back(World& world, const Scenario& scenario, Run& run) {
  world.end_containers();
  TRY(remove_unsure(run));
  TRY(run_gc(run));
  TRY(inspect_all_rest(world, scenario, run));
  if (scenario.again && run.findings.violations.empty()) TRY(start_again(world, scenario, run));
  if (scenario.settings.fleet && scenario.settings.warm) TRY(refill_again(run));
  return {};
}

std::string point_text(const Point& point) { return str(point.process, ".", point.call); }

// From one point to the next.
class Course {
 public:
  explicit Course(const Choice& choice)
      : at_(choice.only.value_or(Point{})), stride_(choice.stride) {}
  [[nodiscard]] const Point& at() const { return at_; }
  [[nodiscard]] size_t missed() const { return missed_; }

  // False: TRACE, of a run that was to be cut at at(), shows that there is no point left.
  bool move_on(const Trace& trace) {
    if (trace.hit) {
      tries_ = 0;
      at_.call += stride_;
      return true;
    }
    for (const Seen& seen : trace.processes) {
      const auto known = std::find_if(longest_.begin(), longest_.end(),
                                      [&](const Seen& one) { return one.process == seen.process; });
      if (known == longest_.end()) {
        longest_.push_back(seen);
      } else {
        known->count = std::max(known->count, seen.count);
      }
    }
    return next();
  }

 private:
  bool next() {
    constexpr size_t kTries = 10;
    const bool expected = at_.call <= longest_[process_].count;
    if (expected && ++tries_ < kTries) return true;
    tries_ = 0;
    // A run that made this call met another process in a rare way. Who does not come to this call
    // comes to no later one, so this is one miss.
    if (expected) ++missed_;
    if (++process_ == longest_.size()) return false;
    at_ = {longest_[process_].process, 1};
    return true;
  }

  Point at_;
  size_t stride_;
  std::vector<Seen> longest_;  // of each process: that of its runs that was not cut with most calls
  size_t process_ = 0;         // of these, that of at_
  size_t tries_ = 0;           // of this point, in vain
  size_t missed_ = 0;          // processes that were longer once, and not again
};

void report(const Scenario& scenario, const Variant& variant, const Run& run,
            const std::function<void(const std::string&)>& say) {
  const std::string where = run.trace.hit ? str("point ", point_text(run.trace.hit->point), ", ",
                                                run.trace.hit->program, ": ", run.trace.hit->call)
                                          : std::string("not cut");
  for (const std::string& violation : run.findings.violations) {
    say(str("# ", scenario.name, ", ", variant.name, ", ", where, ": ", violation));
  }
}

}  // namespace

const std::vector<Variant>& variants() {
  static const std::vector<Variant> kAll = {{"uncut", Cut::kNone, 0},
                                            {"kill-before", Cut::kKillBefore, 0},
                                            {"kill-after", Cut::kKillAfter, 0},
                                            {"kill-waiter", Cut::kKillWaiter, 0},
                                            {"ENOSPC", Cut::kFail, ENOSPC},
                                            {"EIO", Cut::kFail, EIO},
                                            {"ENOMEM", Cut::kFail, ENOMEM},
                                            {"EINTR", Cut::kFail, EINTR},
                                            {"ETIMEDOUT", Cut::kFail, ETIMEDOUT}};
  return kAll;
}

Result<Run> run_once(World& world, const Scenario& scenario, const Plan& plan, Calls calls) {
  TRY_CTX("start of the run", world.begin(scenario.settings));
  const Program program = TRY_CTX("start state", scenario.prepare(world));
  TRY_CTX("start state", settle());
  Run run;
  std::vector<std::string> followed = World::installed();
  followed.emplace_back(kScratch);  // where this program is, which self_test() traces
  run.trace = TRY(trace(program, plan, followed, Deadline::after(kLongest), calls));
  TRY(settle());
  TRY(check(world, scenario, run));
  TRY(give_back(world, scenario, run));
  if (run.findings.violations.empty()) {
    TRY_CTX("end of the run", world.end());
  } else {
    TRY_CTX("start state", world.rebuild(scenario.bystander));
  }
  return run;
}

namespace {

class Enumeration {
 public:
  Enumeration(World& world, const Scenario& scenario, const Variant& variant,
              const std::function<void(const std::string&)>& say)
      : world_(world), scenario_(scenario), variant_(variant), say_(say) {}

  // Cuts a run at POINT.
  Result<Trace> cut_at(const Point& point, Calls calls = Calls::kForget) {
    if (count_.runs >= kMostRuns)
      return base::Error(base::Code::kInternal, str(scenario_.name, " has no end"));
    const Plan plan{variant_.cut, variant_.error, point};
    Run run = TRY_CTX(str(scenario_.name, ", ", variant_.name, ", point ", point_text(plan.at)),
                      run_once(world_, scenario_, plan, calls));
    ++count_.runs;
    count_.violations += run.findings.violations.size();
    count_.left_in_bundles += run.findings.left_in_bundles;
    count_.aborts += run.findings.aborts;
    report(scenario_, variant_, run, say_);
    if (run.trace.hit) ++count_.points;
    return std::move(run.trace);
  }

  Result<Count> in_course(const Choice& choice) {
    Course course(choice);
    for (;;) {
      const Trace cut = TRY(cut_at(course.at()));
      const bool goes_on = !choice.only && variant_.cut != Cut::kNone && course.move_on(cut);
      count_.missed = course.missed();
      if (!goes_on) return count_;
    }
  }

  Result<Count> of_whole_run(const Choice& choice) {
    const Trace whole = TRY(cut_at({"", 0}, Calls::kKeep));
    if (variant_.cut == Cut::kNone) return count_;
    size_t number = 0;
    for (const Seen& seen : whole.processes)
      for (size_t call = 1; call <= seen.count; ++call)
        if (++number % choice.every == choice.first % choice.every)
          TRY(try_often({seen.process, call}));
    return count_;
  }

 private:
  // Two processes may meet in another way in each run.
  Status try_often(const Point& point) {
    constexpr int kOften = 5;
    for (int i = 0; i < kOften; ++i) {
      const Trace cut = TRY(cut_at(point));
      if (cut.hit) return {};
    }
    ++count_.missed;
    return {};
  }

  World& world_;
  const Scenario& scenario_;
  const Variant& variant_;
  const std::function<void(const std::string&)>& say_;
  Count count_;
};

}  // namespace

Result<Count> enumerate(World& world, const Scenario& scenario, const Variant& variant,
                        const Choice& choice, const std::function<void(const std::string&)>& say) {
  TRY_CTX("start state", world.rebuild(scenario.bystander));
  Enumeration all(world, scenario, variant, say);
  return choice.every == 0 ? all.in_course(choice) : all.of_whole_run(choice);
}

}  // namespace fault
