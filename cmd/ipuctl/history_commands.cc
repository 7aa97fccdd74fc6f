// SPDX-License-Identifier: Apache-2.0
// explain, trace, events, audit verify.
#include <algorithm>
#include <memory>

#include "base/clock.h"
#include "base/names.h"
#include "base/process.h"
#include "base/text.h"
#include "base/trace.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/explain_bundle.h"
#include "cmd/ipuctl/names.h"
#include "cmd/ipuctl/print_history.h"
#include "cmd/ipuctl/queue_commands.h"
#include "cmd/ipuctl/stream.h"
#include "cmd/ipuctl/tenants.h"
#include "cmd/ipuctl/viewer.h"
#include "hook/config/paths.h"
#include "hook/container/inject/lease_files.h"
#include "hook/lifecycle/end/effects.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/liveness.h"
#include "hook/lifecycle/liveness_scan.h"
#include "hook/lifecycle/queue_turn.h"

namespace ipuctl {
namespace {

using namespace base::names;
using std::chrono::milliseconds;

constexpr uint32_t kBatch = 256;        // events per read
constexpr int64_t kShown = 1000;        // events, unless a time, a number or a lease is given
constexpr milliseconds kEventTime{50};  // between two looks for new events
constexpr milliseconds kLongestAge = std::chrono::hours(365 * 24);

struct ExplainOptions {
  Output output = Output::kTable;
  std::string lease;
  std::string bundle;
};

struct TraceOptions {
  Output output = Output::kTable;
  std::string lease;
};

struct EventsOptions {
  Output output = Output::kTable;
  bool follow = false;
  std::string since;  // empty: the newest kShown, or all of the lease; with follow, from now on
  std::string lease;  // as for `lease show`; empty: all
};

struct AuditOptions {
  Output output = Output::kTable;
  std::vector<std::string> files;
};

// ---- explain

// Returns what a request waits for, who is first, and its tenant's shares.
std::string wait_text(hook::ledger::Ledger& ledger, const WholeQueue& queue, const Place& place) {
  return str(waiting_text(place), ahead_text(queue, place), share_text(ledger, place.waiter.tenant),
             fleet_share_text(queue.tenants, queue.held, place.waiter.tenant));
}

Result<std::string> next_step(hook::lifecycle::Env& env, const hook::ledger::Lease& lease,
                              const WholeQueue& queue) {
  for (const Place& place : queue.places) {
    const bool is_here = place.waiter.host.empty();
    if (is_here && place.waiter.container == lease.container)
      return wait_text(env.ledger, queue, place);
  }
  if (lease.state == hook::ledger::LeaseState::kQuarantine) {
    return str("its addresses become free at ", base::rfc3339(lease.quarantine_until_ms));
  }
  if (!is_live(lease.state)) return std::string();
  if (!lease.obstacle.empty()) {
    return std::string(
        "the obstacle above delays the release; once it is gone, 'ipuctl gc' or the next start of"
        " a container completes the release");
  }
  const hook::lifecycle::Judgement judgement =
      TRY(hook::lifecycle::judge_lease(env, lease)).judgement;
  if (judgement.life == hook::lifecycle::Life::kEnded) {
    return str(judgement.because, "; run 'ipuctl gc' to release the lease");
  }
  return judgement.because;
}

std::vector<Outside> look_outside(hook::lifecycle::Env& env, const hook::ledger::Lease& lease) {
  std::vector<Outside> outside;
  const base::Deadline deadline = query_deadline();
  for (const hook::lifecycle::end::Effect& effect : hook::lifecycle::end::effects()) {
    if (!effect.may_have(lease)) continue;
    const Result<netns::Presence> found = effect.probe(env, lease, deadline);
    Outside one{std::string(effect.name), "unknown"};
    if (!found.ok()) {
      one.reason = found.error().message();
    } else {
      one.state = found.value() == netns::Presence::kThere ? "there" : "gone";
    }
    outside.push_back(std::move(one));
  }
  return outside;
}

std::vector<hook::ledger::Waiter> waiters_in(const WholeQueue& queue) {
  std::vector<hook::ledger::Waiter> waiters;
  for (const Place& place : queue.places) waiters.push_back(place.waiter);
  return waiters;
}

// Returns whether TEXT, which names the ended LEASE, means another container of QUEUE: who waits
// comes before who has ended.
bool means_waiter(const WholeQueue& queue, const hook::ledger::Lease& lease,
                  const std::string& text) {
  if (is_live(lease.state)) return false;
  const auto found = find_waiters(waiters_in(queue), text);
  return found.ok() && found.value().front().container != lease.container;
}

// Explains a container that waits and has no lease yet. ERROR says why no lease was found.
Result<Outcome> explain_waiter(hook::ledger::Ledger& ledger, const WholeQueue& queue,
                               const ExplainOptions& options, const Error& error, Outcome outcome) {
  if (error.code() != Code::kNotFound) return error;
  const auto found = find_waiters(waiters_in(queue), options.lease);
  if (!found.ok()) {
    // The fleet, which does not answer, may have it.
    outcome.obstacles.push_back(found.error().code() == Code::kNotFound ? error : found.error());
    return outcome;
  }
  std::vector<Place> places = queue.places;
  std::erase_if(places, [&](const Place& place) {
    return place.waiter.container != found.value().front().container;
  });
  if (options.output == Output::kJson) {
    outcome.text = queue_text(places, names_of(found.value()), options.output, queue.tag);
    return outcome;
  }
  for (const Place& place : places)
    outcome.text += str(requester_of(place.waiter), ": ", wait_text(ledger, queue, place), "\n");
  return outcome;
}

// Returns what VIEWER may see of the queue. Asks the fleet only if the lease FOUND waits, or none
// was found: the fleet may have a request of that name.
Result<WholeQueue> queue_with(const Viewer& viewer, hook::ledger::Ledger& ledger,
                              const Result<hook::ledger::Lease>& found,
                              std::vector<Error>& obstacles) {
  WholeQueue queue;
  queue.places = TRY(queue_of(ledger, ""));
  const bool waits =
      !found.ok() || std::any_of(queue.places.begin(), queue.places.end(), [&](const Place& one) {
        return one.waiter.container == found.value().container;
      });
  if (waits) queue = TRY(whole_queue(ledger, "", obstacles));
  std::erase_if(queue.places, [&](const Place& place) {
    return !viewer.sees_all() && !viewer.owns(place.waiter);
  });
  return queue;
}

Result<Outcome> run_explain(const Viewer& viewer, const ExplainOptions& options) {
  TRY(check_one_of(!options.lease.empty(), !options.bundle.empty(),
                   "the id of a lease or container, or --bundle DIR"));
  if (!options.bundle.empty()) return explain_bundle(options.bundle, options.output);
  hook::ledger::Ledger ledger = TRY(existing_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  Explanation explanation;
  Result<hook::ledger::Lease> found = find_lease_of(viewer, ledger, options.lease);
  Outcome outcome;
  const WholeQueue queue = TRY(queue_with(viewer, ledger, found, outcome.obstacles));
  if (found.ok() && means_waiter(queue, found.value(), options.lease)) {
    found = Error(Code::kNotFound, "it has ended");
  }
  if (!found.ok()) return explain_waiter(ledger, queue, options, found.error(), outcome);
  explanation.lease = std::move(found).take();
  const hook::ledger::Lease& lease = explanation.lease;
  explanation.events = TRY(ledger.events().of_lease(lease.id));
  explanation.outside = look_outside(env, lease);
  explanation.next = TRY(next_step(env, lease, queue));
  std::vector<hook::ledger::Lease> all = TRY(ledger.leases_of(lease.container));
  for (auto other = all.rbegin(); other != all.rend(); ++other) {
    if (other->id != lease.id) explanation.earlier.push_back(std::move(*other));
  }
  outcome.text = explanation_text(explanation, options.output);
  return outcome;
}

// ---- events

Result<Outcome> run_trace(const Viewer& viewer, const TraceOptions& options) {
  hook::ledger::Ledger ledger = TRY(read_ledger());
  const hook::ledger::Lease lease = TRY(find_lease_of(viewer, ledger, options.lease));
  const Result<std::vector<base::TraceStep>> steps =
      base::read_trace(hook::inject::trace_file(hook::config::run_dir(), lease.id));
  if (steps.ok()) return Outcome{trace_text(steps.value(), options.output)};
  if (steps.error().code() != Code::kNotFound) return steps.error();
  return Error(Code::kNotFound, str("lease ", lease.id,
                                    " has no trace: it has ended, or its start has not got its"
                                    " files yet"));
}

// Returns the number after which the events begin.
Result<int64_t> first_number(hook::ledger::Ledger& ledger, const EventsOptions& options) {
  if (options.since.empty()) {
    const int64_t last = TRY(ledger.events().last());
    if (options.follow) return last;
    return options.lease.empty() ? std::max<int64_t>(0, last - kShown) : 0;
  }
  const Result<int64_t> number = base::parse_int<int64_t>(options.since, 0, INT64_MAX);
  if (number.ok()) return number;
  const Result<milliseconds> age = base::parse_duration(options.since, kLongestAge);
  if (age.ok()) return ledger.events().last_before(base::unix_millis() - age.value().count());
  return Error(Code::kInvalid,
               str("--since ", base::quote(options.since),
                   " is neither the number of an event nor a time; give a number or a time such as"
                   " 10m, 24h or 7d"));
}

bool is_wanted(const hook::ledger::Event& event, const EventsOptions& options) {
  return event.lease.starts_with(options.lease) || event.container.starts_with(options.lease);
}

// Writes the events after NUMBER, and sets NUMBER to that of the last one.
Result<Stream::Goes> write_events(hook::ledger::Ledger& ledger, Stream& stream, int64_t& number,
                                  const EventsOptions& options) {
  for (;;) {
    const std::vector<hook::ledger::Event> events = TRY(ledger.events().after(number, kBatch));
    for (const hook::ledger::Event& event : events) {
      number = event.number;
      if (!is_wanted(event, options)) continue;
      const Stream::Goes goes = TRY(stream.write(event_line(event, options.output)));
      if (goes == Stream::Goes::kEnd) return goes;
    }
    if (events.size() < kBatch) return Stream::Goes::kOn;
  }
}

// Returns whether any event is of what OPTIONS name. Requests that were refused before they had a
// lease have one, too.
Result<bool> has_event(hook::ledger::Ledger& ledger, const EventsOptions& options) {
  for (int64_t number = 0;;) {
    const std::vector<hook::ledger::Event> events = TRY(ledger.events().after(number, kBatch));
    for (const hook::ledger::Event& event : events) {
      if (is_wanted(event, options)) return true;
    }
    if (events.size() < kBatch) return false;
    number = events.back().number;
  }
}

// Returns the beginning of the ids whose events are wanted. Fails as `lease show` does if there is
// nothing of this name, and was not as far as the history goes.
Result<std::string> wanted_id(hook::ledger::Ledger& ledger, const EventsOptions& options) {
  const std::string& text = options.lease;
  if (text.empty()) return text;
  const Result<hook::ledger::Lease> found = find_lease(ledger, text);
  if (found.ok()) {
    const hook::ledger::Lease& lease = found.value();
    const bool has_id = lease.id.starts_with(text) || lease.container.starts_with(text);
    return has_id ? text : lease.container;
  }
  if (found.error().code() != Code::kNotFound) return found.error();
  const auto waiters = find_waiters(TRY(ledger.queue().list()), text);
  if (waiters.ok()) return waiters.value().front().container;
  // Whoever follows may be there before the container.
  if (options.follow || TRY(has_event(ledger, options))) return text;
  return found.error();
}

Result<Outcome> run_events(EventsOptions options) {
  hook::ledger::Ledger ledger = TRY(existing_ledger());
  options.lease = TRY(wanted_id(ledger, options));
  Stream stream = TRY(Stream::open());
  int64_t number = TRY(first_number(ledger, options));
  int64_t seen = -1;  // no version of the ledger
  for (;;) {
    const int64_t version = TRY(ledger.data_version());
    if (version != std::exchange(seen, version)) {
      const Stream::Goes written = TRY(write_events(ledger, stream, number, options));
      if (written == Stream::Goes::kEnd) return Outcome{};
    }
    if (!options.follow) return Outcome{};
    if (TRY(stream.pause(kEventTime)) == Stream::Goes::kEnd) return Outcome{};
  }
}

// ---- audit

Result<Outcome> run_audit_verify(const AuditOptions& options) {
  if (!options.files.empty()) {
    const hook::ledger::AuditReport report =
        TRY(hook::ledger::verify_audit(options.files, std::nullopt));
    Outcome outcome{audit_text(report, options.output)};
    if (report.fault) outcome.obstacles.emplace_back(Code::kInternal, fault_text(*report.fault));
    return outcome;
  }
  hook::ledger::Ledger ledger = TRY(existing_ledger());
  const hook::ledger::AuditMark remembered = TRY(ledger.events().audit_mark());
  const hook::ledger::AuditReport report = TRY(hook::ledger::verify_audit(
      hook::ledger::audit_files(hook::config::audit_file()), remembered));
  Outcome outcome{audit_text(report, options.output)};
  if (report.fault) outcome.obstacles.emplace_back(Code::kInternal, fault_text(*report.fault));
  // Written only after the check: the entries that are missing may be the trace to find.
  Status written = ledger.events().write_audit_log();
  if (!written.ok()) outcome.obstacles.push_back(std::move(written).error());
  return outcome;
}

void add_explain(CLI::App& app, const Viewer& viewer, Command& chosen) {
  const auto options = std::make_shared<ExplainOptions>();
  Options declared =
      add_command(app,
                  {"explain", "Explain what happened to a lease, or what would happen to a bundle",
                   "ipuctl explain $(docker ps -lq)"},
                  chosen, [&viewer, options] { return run_explain(viewer, *options); });
  declared.output(options->output);
  declared.text(
      {"LEASE", "", "Id of a lease or container, or its beginning, or a container's name"},
      options->lease);
  declared.text({"--bundle", "DIR", "Show how the runtime would change the config.json in DIR"},
                options->bundle);
}

void add_trace(CLI::App& app, const Viewer& viewer, Command& chosen) {
  const auto options = std::make_shared<TraceOptions>();
  Options declared =
      add_command(app,
                  {"trace", "Show what the start of a container took its time for",
                   "ipuctl trace $(docker ps -lq)"},
                  chosen, [&viewer, options] { return run_trace(viewer, *options); });
  declared.output(options->output);
  declared.argument("LEASE", options->lease,
                    "Id of a lease or container, or its beginning, or a container's name");
}

void add_events(CLI::App& app, Command& chosen) {
  const auto options = std::make_shared<EventsOptions>();
  Options declared = add_command(
      app,
      {"events",
       "List the events of leases and partitions, oldest first: the last 1000, unless you"
       " choose others",
       "ipuctl events --since 24h\nipuctl events --follow -o json"},
      chosen, [options] { return run_events(*options); });
  declared.output(options->output);
  declared.flag("-f,--follow", options->follow, "Print new events as they happen");
  declared.text({"--since", "NUMBER|TIME",
                 "List all events after this number, or of the last 10m, 24h, 7d; at most 365d"},
                options->since);
  declared.text({"--lease", "LEASE", "List only events of this lease or container, by id or name"},
                options->lease);
}

void add_audit(CLI::App& app, Command& chosen) {
  CLI::App& group = add_group(app, {"audit", "Check the audit log", "ipuctl audit verify"});
  const auto options = std::make_shared<AuditOptions>();
  Options declared =
      add_command(group,
                  {"verify", "Find lines of the audit log that were changed, removed or moved",
                   "ipuctl audit verify"},
                  chosen, [options] { return run_audit_verify(*options); });
  declared.output(options->output);
  declared.arguments("FILE", options->files,
                     "Files to check, oldest first (default: the log and its rotated files)");
}

}  // namespace

void add_history_commands(CLI::App& app, const Viewer& viewer, Command& chosen) {
  add_explain(app, viewer, chosen);
  add_trace(app, viewer, chosen);
  add_events(app, chosen);
  add_audit(app, chosen);
}

}  // namespace ipuctl
