// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-agent/time_keeping.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/names.h"
#include "base/spawn.h"
#include "hook/config/config.h"
#include "hook/config/paths.h"
#include "hook/fleet/hosts.h"
#include "hook/ledger/ledger.h"
#include "hook/lifecycle/end/release.h"
#include "hook/lifecycle/end/remains.h"
#include "hook/lifecycle/env.h"

namespace agent {
namespace {

using namespace base::names;
using std::chrono::milliseconds;

constexpr milliseconds kLookTime{1000};  // between two looks at the ledger
// Between two looks at the border: the kernel does not report every removal.
constexpr milliseconds kMendTime{4000};
constexpr std::chrono::minutes kCollectTime{5};

}  // namespace

TimeKeeping::TimeKeeping(netns::FilterWatch filters, netns::LinkWatch links)
    : filters_(std::move(filters)),
      links_(std::move(links)),
      mend_{hook::config::control_program(), {"ipuctl", "border", "mend"}},
      reconcile_{hook::config::hook_program(), {"ipu-container-hook", "reconcile"}},
      collect_{hook::config::control_program(), {"ipuctl", "gc", "--timeout", "30s"}},
      beat_{hook::config::control_program(), {"ipuctl", "fleet", "beat", "--wait", "10s"}},
      next_look_(Deadline::after(milliseconds(0))),
      next_mend_(Deadline::after(milliseconds(0))),
      next_collect_(Deadline::after(kCollectTime)),
      next_beat_(Deadline::after(milliseconds(0))) {}

Result<TimeKeeping> TimeKeeping::open() {
  const netns::Namespace host = TRY(netns::Namespace::current());
  // Before the first look, so that nothing is missed in between.
  netns::FilterWatch filters = TRY(netns::FilterWatch::open(host));
  netns::LinkWatch links = TRY(netns::LinkWatch::open(host));
  return TimeKeeping(std::move(filters), std::move(links));
}

milliseconds TimeKeeping::left() const { return next_look_.left(); }

void TimeKeeping::work() {
  report(look_at_network(), last_errors_[0]);
  if (next_look_.passed()) {
    next_look_ = Deadline::after(kLookTime);
    report(look_at_ledger(), last_errors_[1]);
    report(look_at_fleet(), last_errors_[3]);
  }
  Status started;
  for (Job* const job : {&mend_, &reconcile_, &collect_, &beat_}) {
    const Status one = start(*job);
    if (!one.ok()) started = one;
  }
  report(started, last_errors_[2]);
}

Status TimeKeeping::look_at_network() {
  const bool is_removed = TRY(filters_.read()) == netns::FilterWatch::Seen::kRemoval;
  const bool is_changed = TRY(links_.read()) == netns::LinkWatch::Seen::kChange;
  if (is_removed || is_changed) mend_.is_wanted = true;
  return {};
}

// Only looks: whoever stops this process here holds nothing that others wait for.
Status TimeKeeping::look_at_ledger() {
  if (::access(hook::config::ledger_file().c_str(), F_OK) != 0) return {};
  hook::ledger::Ledger ledger = TRY(hook::lifecycle::open_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  env.start_reconcile = [this] { reconcile_.is_wanted = true; };
  if (next_mend_.passed() && !TRY(ledger.holds()).empty()) mend_.is_wanted = true;
  if (next_mend_.passed()) next_mend_ = Deadline::after(kMendTime);
  const bool is_late = next_collect_.passed();
  if (is_late) next_collect_ = Deadline::after(kCollectTime);
  if (is_late || !TRY(hook::lifecycle::end::find_dead_waiters(ledger)).empty())
    collect_.is_wanted = true;
  return hook::lifecycle::end::reconcile_soon(env);
}

// Reads the configuration each time, so that a host joins and leaves a fleet without a restart.
Status TimeKeeping::look_at_fleet() {
  if (!next_beat_.passed()) return {};
  next_beat_ = Deadline::after(hook::fleet::kBeatTime);
  const std::string file = hook::config::config_file();
  if (::access(file.c_str(), F_OK) != 0) return {};
  beat_.is_wanted = TRY(hook::config::load_config(file)).fleet.has_value();
  return {};
}

Status TimeKeeping::start(Job& job) {
  if (!job.is_wanted || job.running != 0) return {};
  job.is_wanted = false;
  job.running = TRY(base::spawn(job.program, job.args, STDERR_FILENO));
  return {};
}

void TimeKeeping::ended(pid_t child) {
  for (Job* const job : {&mend_, &reconcile_, &collect_, &beat_}) {
    if (job->running == child) job->running = 0;
  }
}

// An error that stays is told once.
void TimeKeeping::report(const Status& status, std::string& last) {
  const std::string now = status.ok() ? "" : status.error().message();
  if (now == last) return;
  last = now;
  if (!now.empty())
    (void)std::fprintf(stderr, "ipu-agent: %s\n", base::one_line(now, 1000).c_str());
}

}  // namespace agent
