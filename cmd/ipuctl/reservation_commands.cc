// SPDX-License-Identifier: Apache-2.0
// reserve; reservation list, extend, end.
#include <csignal>
#include <cstdio>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "base/names.h"
#include "base/users.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/list_text.h"
#include "cmd/ipuctl/print_lease.h"
#include "cmd/ipuctl/queue_commands.h"
#include "cmd/ipuctl/reservations.h"
#include "cmd/ipuctl/viewer.h"
#include "hook/config/paths.h"
#include "hook/ledger/actor.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "hook/lifecycle/queue_turn.h"
#include "hook/lifecycle/start/reserve.h"
#include "hook/lifecycle/start/shortage_text.h"

namespace ipuctl {
namespace {

using namespace base::names;
using base::Json;
using hook::ledger::PartitionRecord;
using std::chrono::milliseconds;

constexpr milliseconds kShowTime{1000};  // between two looks at the place in the queue
constexpr milliseconds kRoomTime{5000};  // between two questions to the controller

struct ReserveOptions {
  hook::lifecycle::start::ReservationRequest request;
  std::optional<milliseconds> wait;
  std::optional<milliseconds> time;
  std::string pool;
  Output output = Output::kTable;
};

struct ReservationOptions {
  Ending which;
  std::optional<milliseconds> time;
  Output output = Output::kTable;
};

volatile std::sig_atomic_t is_interrupted = 0;

// Lets SIGINT and SIGTERM end the wait of this process, and nothing else.
void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { is_interrupted = 1; };
  for (const int signal : {SIGINT, SIGTERM}) (void)::sigaction(signal, &action, nullptr);
}

// Shows on stderr the place of a request, and what would make room for it, each time that they
// change.
class Progress {
 public:
  Progress(const Viewer& viewer, hook::lifecycle::Env& env, const hook::config::PoolConfig& pool,
           const hook::lifecycle::start::ReservationRequest& request)
      : viewer_(viewer),
        env_(env),
        pool_(pool),
        waiter_(hook::lifecycle::start::waiter_of(request.name)),
        ipus_(request.ipus) {}

  Status show() {
    if (is_interrupted != 0) {
      return Error(Code::kBusy, "interrupted; the place in the queue is given back");
    }
    if (!next_.passed()) return {};
    next_ = Deadline::after(kShowTime);
    const std::vector<Place> queue = TRY(queue_of(env_.ledger, ""));
    for (size_t i = 0; i < queue.size(); ++i) {
      if (queue[i].waiter.container == waiter_) say(queue, queue[i]);
    }
    return {};
  }

 private:
  void say(const std::vector<Place>& queue, const Place& own) {
    std::string ahead;
    for (const Place& place : queue) {
      if (!viewer_.sees_all()) break;
      if (place.waiter.resource != own.waiter.resource || place.position >= own.position) continue;
      ahead += str(ahead.empty() ? "; ahead: " : ", ",
                   hook::lifecycle::requester_text(place.waiter.container));
    }
    const std::string now = str(own.position, " of ", own.length, ahead, missing());
    if (std::exchange(shown_, now) == now) return;
    viewer_.tell(waiting_text(own) + ahead + missing_);
  }

  const std::string& missing() {
    if (!next_question_.passed()) return missing_;
    missing_ = hook::lifecycle::start::what_is_missing(env_, pool_, ipus_);
    if (!missing_.empty()) missing_ = "; " + missing_;
    next_question_ = Deadline::after(kRoomTime);
    return missing_;
  }

  const Viewer& viewer_;
  hook::lifecycle::Env& env_;
  const hook::config::PoolConfig& pool_;
  std::string waiter_;
  uint32_t ipus_;
  Deadline next_ = Deadline::after(milliseconds(0));
  Deadline next_question_ = Deadline::after(milliseconds(0));
  std::string missing_;  // what would make room, by the last answer
  std::string shown_;
};

std::string end_text(const PartitionRecord& record) {
  return record.until_ms == 0 ? "-" : base::rfc3339(record.until_ms);
}

Json reservation_json(const PartitionRecord& record, const std::vector<hook::ledger::Lease>& used) {
  Json containers = Json::array();
  for (const hook::ledger::Lease& lease : used) containers.push_back(lease.container);
  return {{"reservation", record.reservation},
          {"partition", record.name},
          {"pool", record.pool},
          {"ipus", record.ipus},
          {"owner", record.reserved_for},
          {"tenant", record.tenant},
          {"state", reservation_state(record)},
          {"created", base::rfc3339(record.created_ms)},
          {"until", record.until_ms == 0 ? Json() : Json(base::rfc3339(record.until_ms))},
          {"containers", std::move(containers)}};
}

Result<Outcome> show(hook::ledger::Ledger& ledger, const PartitionRecord& record, Output output) {
  if (output == Output::kTable) {
    const std::string end = record.until_ms == 0 ? ", and does not end by itself"
                                                 : str(" until ", base::rfc3339(record.until_ms));
    const std::string& name = record.reservation;
    return Outcome{str("reservation ", name, " has ", record.ipus, " IPUs of ", record.pool, end,
                       "; use it with IPU_RESERVATION=", name, "\n")};
  }
  const auto used = TRY(ledger.partitions().holders(record.pool, record.name));
  return Outcome{base::to_pretty_text(reservation_json(record, used))};
}

Status check_time(const std::optional<milliseconds>& time) {
  if (!time || time->count() > 0) return {};
  return Error(Code::kInvalid,
               "--for must be longer than 0, such as 4h; to end a reservation, run"
               " 'ipuctl reservation end'");
}

Error too_long(const char* option, milliseconds time, const char* key, milliseconds longest) {
  return {Code::kDenied,
          str(option, " ", base::format_duration(time), " is longer than ",
              base::format_duration(longest), ", which agent.", key, " allows; ask for less")};
}

// Returns how long the request waits; 0: not at all.
Result<milliseconds> wait_for(const Viewer& viewer, const std::optional<milliseconds>& wait) {
  const milliseconds longest = viewer.policy().max_wait;
  if (viewer.user() && wait > longest) return too_long("--wait", *wait, "max_wait", longest);
  return wait.value_or(milliseconds(0));
}

// Returns for how long the reservation is kept; 0: until it is ended. Those of users end.
Result<milliseconds> time_for(const Viewer& viewer, const std::optional<milliseconds>& time) {
  TRY(check_time(time));
  if (!viewer.user()) return time.value_or(milliseconds(0));
  const milliseconds longest = viewer.policy().max_time;
  if (time > longest) return too_long("--for", *time, "max_time", longest);
  return time.value_or(longest);
}

// A user's reservation is for this user, by the word of the kernel.
void set_owner(const Viewer& viewer, hook::lifecycle::start::ReservationRequest& request) {
  request.user = viewer.user() ? int64_t{*viewer.user()} : hook::ledger::user_who_logged_in();
  if (!viewer.user()) return;
  request.most = viewer.policy().max_ipus;
  request.owner = base::name_of_user(*viewer.user());
  if (request.owner.empty()) request.owner = str("uid ", *viewer.user());
}

// A user reserves for the tenant of this user alone.
Status set_tenant(const Viewer& viewer, const hook::config::PolicyConfig& policy,
                  hook::lifecycle::start::ReservationRequest& request) {
  const std::string given = std::exchange(request.tenant, {});
  const std::string own = viewer.user() ? "" : given;
  request.tenant = TRY(hook::config::choose_tenant(policy, own, request.user, "the reservation"));
  if (given.empty() || given == request.tenant) return {};
  return Error(Code::kDenied,
               str("--tenant ", quote(given), " is for root: your reservations are",
                   request.tenant.empty() ? " of no tenant" : " of tenant ",
                   request.tenant.empty() ? "" : quote(request.tenant), "; leave it out"));
}

Result<Outcome> run_reserve(const Viewer& viewer, const ReserveOptions& options) {
  hook::lifecycle::start::ReservationRequest request = options.request;
  TRY(hook::lifecycle::start::check_reservation(request));
  request.wait = TRY(wait_for(viewer, options.wait));
  request.time = TRY(time_for(viewer, options.time));
  const hook::config::Config config = TRY(hook::config::load_config(hook::config::config_file()));
  const hook::config::PoolConfig pool = TRY(hook::config::find_pool(config, options.pool));
  set_owner(viewer, request);
  TRY(set_tenant(viewer, config.policy, request));
  hook::ledger::Ledger ledger = TRY(open_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  env.names_others = viewer.sees_all();
  Progress progress(viewer, env, pool, request);
  env.still_wanted = [&progress] { return progress.show(); };
  catch_interrupts();
  TRY(hook::lifecycle::start::reserve(env, config, pool, request));
  const PartitionRecord record = TRY(get_reservation(viewer, ledger, request.name, pool.name));
  return show(ledger, record, options.output);
}

Result<Outcome> run_list(const Viewer& viewer, const ReservationOptions& options) {
  hook::ledger::Ledger ledger = TRY(read_ledger());
  std::vector<PartitionRecord> records = TRY(reservations_of(ledger, options.which.pool));
  std::erase_if(records, [&](const PartitionRecord& record) {
    return !viewer.sees_all() && !viewer.owns(record);
  });
  if (records.empty()) TRY(check_pool(options.which.pool));
  Json list = Json::array();
  Rows rows = {{"RESERVATION", "POOL", "IPUS", "OWNER", "STATE", "CONTAINERS", "UNTIL"}};
  for (const PartitionRecord& record : records) {
    const auto used = TRY(ledger.partitions().holders(record.pool, record.name));
    list.push_back(reservation_json(record, used));
    rows.push_back({record.reservation, record.pool, str(record.ipus), or_dash(record.reserved_for),
                    reservation_state(record), str(used.size()), end_text(record)});
  }
  return Outcome{list_text(list, rows, options.output)};
}

// All extensions of a user's reservation together are bounded too.
Status check_total(const Viewer& viewer, const PartitionRecord& record, int64_t until_ms) {
  if (!viewer.user()) return {};
  const int64_t last_ms = record.created_ms + viewer.policy().max_time.count();
  if (until_ms <= last_ms) return {};
  return Error(Code::kDenied,
               str("reservation ", quote(record.reservation), " lasts until ",
                   base::rfc3339(last_ms), " at most: agent.max_time of this host is ",
                   base::format_duration(viewer.policy().max_time), "; reserve again then"));
}

Result<Outcome> run_extend(const Viewer& viewer, const ReservationOptions& options) {
  if (!options.time)
    return Error(Code::kInvalid, "give the time from now with --for, such as --for 4h");
  const milliseconds time = TRY(time_for(viewer, options.time));
  hook::ledger::Ledger ledger = TRY(open_ledger());
  const PartitionRecord record =
      TRY(get_reservation(viewer, ledger, options.which.name, options.which.pool));
  if (record.state != hook::ledger::PartitionState::kReady) {
    const bool is_made = record.state == hook::ledger::PartitionState::kIntent;
    return Error(Code::kBusy,
                 str("reservation ", quote(options.which.name), " is ", name_of(record.state),
                     ", and cannot be extended now; ",
                     is_made ? "try again when it is RESERVED" : "reserve again when it is gone"));
  }
  const int64_t until_ms = base::unix_millis() + time.count();
  TRY(check_total(viewer, record, until_ms));
  TRY(note_user(viewer, ledger, "extends", record.reservation));
  TRY(ledger.partitions().set_end(record, until_ms));
  return show(ledger, TRY(get_reservation(viewer, ledger, options.which.name, options.which.pool)),
              options.output);
}

Result<Outcome> run_end(const Viewer& viewer, const ReservationOptions& options) {
  return end_reservations(viewer, options.which, options.output);
}

void add_reserve(CLI::App& app, const Viewer& viewer, Command& chosen) {
  const auto options = std::make_shared<ReserveOptions>();
  Options declared = add_command(
      app,
      {"reserve", "Wait for IPUs in the terminal, and keep them for IPU_RESERVATION=NAME",
       "ipuctl reserve night --ipus 16 --wait 1h --for 4h"},
      chosen, [&viewer, options] { return run_reserve(viewer, *options); });
  declared.argument("NAME", options->request.name,
                    "1 to 36 characters of A-Z, a-z, 0-9, '-' and '_'");
  declared.number({"--ipus", "N", "Number of IPUs, a power of two"}, options->request.ipus);
  declared.number({"--gcds", "N", "Number of GCDs; IPU_GCD selects one, or all (default: 1)"},
                  options->request.gcds);
  declared.duration({"--wait", "TIME", "Wait for IPUs up to this time (default: fail at once)"},
                    options->wait);
  declared.duration(
      {"--for", "TIME",
       "Keep the IPUs for this time (default: until it is ended; for users, agent.max_time)"},
      options->time);
  declared.text({"--owner", "ID", "Whoever it is for, as the lists show it"},
                options->request.owner);
  declared.text({"--tenant", "NAME", "The tenant to which it counts (default: by the user)"},
                options->request.tenant);
  declared.output(options->output);
  declared.pool(options->pool);
}

}  // namespace

void add_reservation_commands(CLI::App& app, const Viewer& viewer, Command& chosen) {
  add_reserve(app, viewer, chosen);
  CLI::App& group = add_group(
      app, {"reservation", "List, extend and end reservations", "ipuctl reservation list"});
  const auto options = std::make_shared<ReservationOptions>();
  using Run = Result<Outcome> (*)(const Viewer&, const ReservationOptions&);
  const auto add = [&](const About& about, Run run) {
    Options declared = add_command(group, about, chosen,
                                   [&viewer, options, run] { return run(viewer, *options); });
    if (run == run_list) declared.list_output(options->output);
    if (run != run_list) declared.output(options->output);
    declared.text({"--pool", "NAME", "Only reservations of this pool (default: all)"},
                  options->which.pool);
    return declared;
  };
  add({"list", "List the reservations", "ipuctl reservation list"}, run_list).watch();
  Options extend = add({"extend", "Let a reservation end later, or sooner",
                        "ipuctl reservation extend night --for 2h"},
                       run_extend);
  extend.argument("NAME", options->which.name, "Name of the reservation");
  extend.duration({"--for", "TIME", "Let it end this time from now"}, options->time);
  Options end =
      add({"end", "End a reservation, and free its IPUs", "ipuctl reservation end night"}, run_end);
  end.optional_argument("NAME", options->which.name, "Name of the reservation");
  end.text({"--owner", "ID", "End all that were made with this --owner; none is no error"},
           options->which.owner);
  end.flag("--force", options->which.force,
           "Also while a container has it, which then loses its IPUs");
}

}  // namespace ipuctl
