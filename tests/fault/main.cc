// SPDX-License-Identifier: Apache-2.0
// Crash enumeration, on a throw-away host that check.sh makes.
//   fault list                             scenarios and variants
//   fault run SCENARIO VARIANT [WHICH]     all points; or of these
//     P.N   the Nth of process P: "1.2.12"
//     /S    of each process each Sth
//     %E+F  of all of a whole run each Eth, from the Fth on
//   fault self                             tests of the harness itself
//   fault points SCENARIO                  what counts in an uncut run
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/names.h"
#include "base/text.h"
#include "tests/fault/enumerate.h"
#include "tests/fault/scenario.h"
#include "tests/fault/self_test.h"
#include "tests/fault/stand_in.h"

namespace {

using namespace base::names;
using fault::Scenario;
using fault::Variant;

void say(const std::string& line) {
  (void)std::printf("%s\n", line.c_str());
  (void)std::fflush(stdout);
}

template <typename T>
Result<T> find(const std::vector<T>& all, std::string_view name) {
  for (const T& one : all) {
    if (one.name == name) return one;
  }
  return Error(Code::kInvalid, str(base::quote(name), " is unknown; see 'fault list'"));
}

Result<fault::Point> parse_point(std::string_view text) {
  const size_t dot = text.rfind('.');
  if (dot == std::string::npos) return Error(Code::kInvalid, "a point is PROCESS.CALL");
  fault::Point point;
  point.process = text.substr(0, dot);
  point.call = TRY(base::parse_int<size_t>(text.substr(dot + 1), 1, 1'000'000));
  return point;
}

Result<fault::Choice> parse_choice(std::string_view text) {
  fault::Choice choice;
  const size_t plus = text.find('+');
  if (text.starts_with('%') && plus != std::string::npos) {
    choice.every = TRY(base::parse_int<size_t>(text.substr(1, plus - 1), 1, 10'000));
    choice.first = TRY(base::parse_int<size_t>(text.substr(plus + 1), 1, choice.every));
    return choice;
  }
  if (text.starts_with('/')) {
    choice.stride = TRY(base::parse_int<size_t>(text.substr(1), 1, 10'000));
  } else {
    choice.only = TRY(parse_point(text));
  }
  return choice;
}

Status list() {
  for (const Scenario& scenario : fault::scenarios()) say(str("scenario ", scenario.name));
  for (const Variant& variant : fault::variants()) say(str("variant ", variant.name));
  return {};
}

// A line of the kind "ok NAME", and one for the table:
// row SCENARIO VARIANT POINTS MISSED RUNS VIOLATIONS LEFT-IN-BUNDLES ABORTS MILLISECONDS
Status run(const std::vector<std::string_view>& args) {
  const Scenario scenario = TRY(find(fault::scenarios(), args[1]));
  const Variant variant = TRY(find(fault::variants(), args[2]));
  const fault::Choice choice = TRY(parse_choice(args.size() > 3 ? args[3] : "/1"));
  const int64_t begin = base::unix_millis();
  fault::World world;
  const Result<fault::Count> done = fault::enumerate(world, scenario, variant, choice, say);
  const std::string name = str(scenario.name, ", ", variant.name);
  if (!done.ok()) {
    say(str("not ok ", name));
    return done.error();
  }
  const fault::Count& count = done.value();
  // A few points are there only when two processes meet in one way, and may never be there again.
  // One miss is the end of one process; in a part of a whole run, it is one point.
  const size_t may_be_missed = choice.every == 0 ? 1 + count.points / 20 : 2 + count.points / 5;
  const size_t wrong = count.violations + (count.missed > may_be_missed ? count.missed : 0);
  say(str(wrong == 0 ? "ok " : "not ok ", name, ": ", count.points, " points, ", count.runs,
          " runs"));
  say(str("row ", scenario.name, " ", variant.name, " ", count.points, " ", count.missed, " ",
          count.runs, " ", count.violations, " ", count.left_in_bundles, " ", count.aborts, " ",
          base::unix_millis() - begin));
  if (wrong == 0) return {};
  return Error(Code::kInternal, str(count.violations, " violations, ", count.missed,
                                    " points that were never met again"));
}

Status points(const std::vector<std::string_view>& args) {
  const Scenario scenario = TRY(find(fault::scenarios(), args[1]));
  fault::World world;
  TRY(world.rebuild(scenario.bystander));
  TRY(world.begin(scenario.settings));
  const fault::Program program = TRY(scenario.prepare(world));
  const auto deadline = base::Deadline::after(std::chrono::seconds(40));
  const fault::Trace trace =
      TRY(fault::trace(program, {}, fault::World::installed(), deadline, fault::Calls::kKeep));
  for (const fault::Seen& seen : trace.processes) {
    for (size_t n = 0; n < seen.calls.size(); ++n) {
      say(str(seen.process, ".", n + 1, " ", seen.program, ": ", seen.calls[n]));
    }
  }
  return world.rebuild(scenario.bystander);
}

Status main_of(const std::vector<std::string_view>& args) {
  if (args.size() == 1 && args[0] == "list") return list();
  if (args.size() == 1 && args[0] == "self") return fault::self_test(say);
  if (args.size() == 2 && args[0] == "points") return points(args);
  if ((args.size() == 3 || args.size() == 4) && args[0] == "run") return run(args);
  return Error(
      Code::kInvalid,
      "usage: fault list | self | run SCENARIO VARIANT [P.N | /S | %E+F] | points SCENARIO");
}

}  // namespace

int main(int argc, char** argv) {
  // Taken with sigtimedwait(2) by the tracer.
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  (void)::sigprocmask(SIG_BLOCK, &child, nullptr);
  const std::vector<std::string_view> args(argv + 1, argv + argc);
  if (args.size() == 3 && args[0] == "stand-in") return fault::stand_in(args[1], argv[3]);
  const Status done = main_of(args);
  if (done.ok()) return 0;
  say(str("# fault: ", done.error().message()));
  return 1;
}
