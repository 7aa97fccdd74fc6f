// SPDX-License-Identifier: Apache-2.0
// ipuctl runtime configure, unconfigure, status.
#include <unistd.h>

#include <memory>

#include "base/json.h"
#include "base/line_diff.h"
#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/list_text.h"
#include "cmd/ipuctl/runtime_site.h"
#include "hook/config/paths.h"
#include "hook/engines/containerd_template.h"
#include "hook/engines/control.h"
#include "hook/engines/listing.h"

namespace ipuctl {
namespace {

using namespace base::names;
using base::Json;
using hook::engines::Engine;
using hook::engines::Listed;

constexpr std::chrono::milliseconds kCheckTime{30'000};   // for the engine's own checker
constexpr std::chrono::milliseconds kAnswerTime{10'000};  // for an engine to list its runtimes
constexpr std::chrono::milliseconds kReloadTime{3'000};   // for docker to read its file again
constexpr std::chrono::milliseconds kListTime{100};       // between two looks at the list

struct RuntimeOptions {
  std::vector<std::string> engines;
  std::string config;
  std::string name = "ipu";
  bool dry_run = false;
  bool make_default = false;
  Output output = Output::kTable;
};

// Returns the engines of the command line. An engine whose file has the runtime REGISTERED counts
// as installed; "" stands for no runtime.
Result<std::vector<Engine>> chosen_engines(const RuntimeOptions& options,
                                           const std::string& registered) {
  std::vector<Engine> engines = TRY(choose_engines(options.engines, registered));
  if (!options.config.empty() && engines.size() != 1) {
    return Error(Code::kInvalid,
                 "--config is the file of one engine; name that engine, such as 'docker'");
  }
  return engines;
}

// containerd's file may hold passwords of registries, which must not get into a log.
std::string diff_text(Engine engine, const hook::engines::FileEdit& edit) {
  std::string text = str("--- ", edit.before ? edit.path : "/dev/null", "\n+++ ",
                         edit.after ? edit.path : "/dev/null", "\n");
  const std::string diff = base::line_diff(edit.before.value_or(""), edit.after.value_or(""));
  if (engine != Engine::kContainerd) return text + diff;
  for (const std::string_view line : base::split(diff, '\n')) {
    if (line.starts_with("+") || line.starts_with("-")) text += str(line, "\n");
  }
  return text;
}

// Returns TEXT, which says what has been done, even if the next step, THEN, failed.
Outcome done_so_far(std::string text, Result<std::string> then) {
  Outcome outcome{std::move(text)};
  if (then.ok()) {
    outcome.text += then.value();
  } else {
    outcome.obstacles.push_back(std::move(then).error());
  }
  return outcome;
}

hook::engines::Listing look(const Site& site, const std::string& name) {
  return hook::engines::find_listing(site.engine, site.daemons, site.file, name,
                                     Deadline::after(kAnswerTime));
}

// Waits until the engine knows the runtime or, if WANTED is kNo, no longer knows it.
hook::engines::Listing wait_until(const Site& site, const std::string& name, Listed wanted) {
  const auto deadline = Deadline::after(kReloadTime);
  for (;;) {
    hook::engines::Listing listing = look(site, name);
    if (listing.listed == wanted || listing.listed == Listed::kUnknown || deadline.passed()) {
      return listing;
    }
    base::sleep_for(kListTime, deadline);
  }
}

// Returns what the user has to do if the engine reads its file only when it starts.
std::string start_advice(const Site& site, hook::engines::Reload done) {
  const std::string_view daemon = daemon_of(site.engine);
  const std::string restart = hook::engines::restart_of_template(site.file);
  if (!restart.empty())
    return str("run '", restart, "' to apply the change; running containers are not affected\n");
  if (done == hook::engines::Reload::kNone) {
    return str("no ", daemon, " is running with ", site.file,
               "; the change takes effect when it starts\n");
  }
  return str("run 'systemctl restart ", daemon,
             "' to apply the change; running containers are not affected\n");
}

// Returns a line on what the engine says of the runtime; kInternal if the engine does not know the
// runtime although it was told to read its file.
Result<std::string> said(const Site& site, const std::string& name, Listed wanted) {
  const hook::engines::Listing listing = wait_until(site, name, wanted);
  const std::string_view daemon = daemon_of(site.engine);
  const std::string runtime = str("the runtime ", base::quote(name));
  if (listing.listed == Listed::kUnknown) {
    return str("cannot be asked whether it lists ", runtime, " (", listing.why, ")\n");
  }
  if (listing.listed == wanted) {
    return str(wanted == Listed::kYes ? "lists " : "no longer lists ", runtime, "\n");
  }
  if (wanted == Listed::kNo) {
    // dockerd 20.10 to 24 keeps its runtimes if its file names none.
    return str("lists ", runtime, " until you restart ", daemon,
               "; running containers are not affected\n");
  }
  const std::string advice = site.engine == Engine::kPodman
                                 ? str("'podman --runtime ", name, " info'")
                                 : str("the log of ", daemon, ", and restart it");
  return Error(Code::kInternal, str(name_of(site.engine), " does not list ", runtime, " with ",
                                    site.file, " after a reload; see ", advice));
}

// Makes the engine read its file, asks it, and returns a line with the result.
Result<std::string> take_effect(const Site& site, const std::string& name, Listed wanted) {
  const hook::engines::Reload done = TRY(hook::engines::reload(site.engine, site.daemons));
  const std::string start = str(name_of(site.engine), ": ");
  const bool is_told = done == hook::engines::Reload::kDone || site.engine == Engine::kPodman;
  if (!is_told) return start + start_advice(site, done);
  if (site.engine == Engine::kCrio) return start + "was told to reload its files\n";
  return start + TRY(said(site, name, wanted));
}

// Does the same if the file was right already, but the engine may not have read it.
Result<std::string> catch_up(const Site& site, const std::string& name, Listed wanted) {
  const Listed listed = look(site, name).listed;
  const bool may_restart = site.engine == Engine::kContainerd && !site.daemons.empty();
  if (listed == wanted || (listed == Listed::kUnknown && !may_restart)) return std::string();
  return take_effect(site, name, wanted);
}

// Refuses a rootless engine. It runs in a user namespace, which cannot reach the host's network and
// the ledger, and in which the low-level runtime does not run as root. A caller who names a file
// with --config knows whose file it is.
Status check_user(Engine engine, const RuntimeOptions& options) {
  if (::geteuid() == 0 || !options.config.empty()) return {};
  return Error(Code::kUnsupported,
               str(name_of(engine), ": cannot be configured for a user other than root, because a",
                   " container with IPUs requires root on this host; run this command and the",
                   " containers as root, with root's ", name_of(engine)));
}

Result<Outcome> configure_engine(const Site& site, const RuntimeOptions& options) {
  hook::engines::RuntimeEntry entry{options.name, hook::config::runtime_program(),
                                    options.make_default};
  if (site.engine == Engine::kCrio) entry.monitor = monitor_program();
  TRY(check_user(site.engine, options));
  TRY(hook::engines::check_runtime_program(entry.path));
  TRY(check_options(site, entry));
  const hook::engines::FileEdit edit =
      TRY(hook::engines::plan_configure(site.engine, site.file, entry));
  const std::string hindrance = TRY(hook::engines::find_hindrance(site.engine, site.file));
  const std::string note =
      hindrance.empty() ? "" : str(name_of(site.engine), ": ", hindrance, "\n");
  if (edit.before == edit.after) {
    const std::string text =
        str(name_of(site.engine), ": ", edit.path, " already has the runtime\n", note);
    if (options.dry_run) return Outcome{text};
    return done_so_far(text, catch_up(site, options.name, Listed::kYes));
  }
  std::string text = diff_text(site.engine, edit) + note;
  if (options.dry_run) return Outcome{text};
  const std::string remark =
      TRY(hook::engines::check_edit(site.engine, edit, entry, Deadline::after(kCheckTime)));
  if (!remark.empty()) text += str(name_of(site.engine), ": ", remark, "\n");
  TRY(hook::engines::apply_edit(edit));
  return done_so_far(text, take_effect(site, options.name, Listed::kYes));
}

Result<Outcome> unconfigure_engine(const Site& site, const RuntimeOptions& options) {
  const hook::engines::FileEdit edit =
      TRY(hook::engines::plan_unconfigure(site.engine, site.file, options.name));
  if (edit.before == edit.after) {
    const std::string text =
        str(name_of(site.engine), ": ", edit.path, " does not have the runtime\n");
    if (options.dry_run) return Outcome{text};
    return done_so_far(text, catch_up(site, options.name, Listed::kNo));
  }
  const std::string text = diff_text(site.engine, edit);
  if (options.dry_run) return Outcome{text};
  TRY(hook::engines::check_edit(site.engine, edit, std::nullopt, Deadline::after(kCheckTime)));
  TRY(hook::engines::apply_edit(edit));
  return done_so_far(text, take_effect(site, options.name, Listed::kNo));
}

// Makes an obstacle to one of several engines a failure, not a wrong use of the command.
Error obstacle_of(Error error, size_t engines) {
  if (engines == 1) return error;
  return {Code::kInternal, error.message()};
}

// Changes each engine even if another one fails.
using Change = Result<Outcome> (*)(const Site&, const RuntimeOptions&);
Result<Outcome> run_change(const RuntimeOptions& options, Change change,
                           const std::string& registered) {
  TRY(hook::engines::check_runtime_name(options.name));
  Outcome outcome;
  const std::vector<Engine> engines = TRY(chosen_engines(options, registered));
  for (const Engine engine : engines) {
    const Result<Site> site = find_site(engine, options.config);
    Result<Outcome> done =
        site.ok() ? change(site.value(), options) : Result<Outcome>(site.error());
    if (!done.ok()) done = Outcome{"", {std::move(done).error()}};
    outcome.text += done.value().text;
    for (const Error& obstacle : done.value().obstacles) {
      outcome.obstacles.push_back(obstacle_of(obstacle, engines.size()));
    }
  }
  return outcome;
}

// ---- status

Result<Outcome> run_status(const RuntimeOptions& options) {
  Rows rows{{"ENGINE", "FILE", "RUNTIME", "DEFAULT", "IN USE"}};
  Json list = Json::array();
  Outcome outcome;
  const std::vector<Engine> engines = TRY(chosen_engines(options, options.name));
  for (const Engine engine : engines) {
    const Result<EngineState> state =
        find_state(engine, options.config, options.name, Deadline::after(kAnswerTime));
    if (!state.ok()) {
      outcome.obstacles.push_back(obstacle_of(state.error(), engines.size()));
      continue;
    }
    const auto& [file, found, listing] = state.value();
    const std::string_view in_use = word_of(listing.listed);
    const std::string why = listing.why.empty() ? "" : str(" (", listing.why, ")");
    rows.push_back({std::string(name_of(engine)), file, found.path.empty() ? "-" : found.path,
                    found.is_default ? "yes" : "no", str(in_use, why)});
    list.push_back({{"engine", name_of(engine)},
                    {"file", file},
                    {"runtime", found.path},
                    {"default", found.is_default},
                    {"in_use", in_use},
                    {"why", listing.why}});
  }
  outcome.text = list_text(list, rows, options.output);
  return outcome;
}

void declare(Options& declared, RuntimeOptions& options) {
  declared.arguments("ENGINE", options.engines,
                     "docker, containerd, crio, podman or auto (default: all that are installed)");
  declared.text(
      {"--config", "FILE", "The engine's configuration file (default: the one that it uses)"},
      options.config);
  declared.text({"--name", "NAME", "Name of the runtime (default: ipu)"}, options.name);
}

}  // namespace

void add_runtime_commands(CLI::App& app, Command& chosen) {
  CLI::App& group =
      add_group(app, {"runtime", "Manage the runtime's registration with container engines",
                      "ipuctl runtime configure docker"});
  const auto options = std::make_shared<RuntimeOptions>();
  Options configure =
      add_command(group,
                  {"configure", "Register the runtime with engines",
                   "ipuctl runtime configure docker --dry-run\n"
                   "ipuctl runtime configure docker"},
                  chosen, [options] { return run_change(*options, configure_engine, ""); });
  declare(configure, *options);
  configure.flag("--dry-run", options->dry_run, "Print the change; change nothing");
  configure.flag("--set-default", options->make_default,
                 "Also use it for containers that name no runtime");
  Options unconfigure = add_command(
      group,
      {"unconfigure", "Remove the runtime from engines",
       "ipuctl runtime unconfigure docker --dry-run"},
      chosen, [options] { return run_change(*options, unconfigure_engine, options->name); });
  declare(unconfigure, *options);
  unconfigure.flag("--dry-run", options->dry_run, "Print the change; change nothing");
  Options status =
      add_command(group, {"status", "Show which engines have the runtime", "ipuctl runtime status"},
                  chosen, [options] { return run_status(*options); });
  declare(status, *options);
  status.list_output(options->output);
}

}  // namespace ipuctl
