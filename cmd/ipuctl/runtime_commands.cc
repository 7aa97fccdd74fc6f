// SPDX-License-Identifier: Apache-2.0
// runtime configure, unconfigure, status.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/json.h"
#include "base/line_diff.h"
#include "base/text.h"
#include "cmd/ipuctl/command.h"
#include "hook/config/paths.h"
#include "hook/engines/control.h"

namespace ipuctl {
namespace {

using base::Code;
using base::Deadline;
using base::Error;
using base::Json;
using base::Result;
using base::Status;
using base::str;
using hook::Engine;
using hook::Listed;

constexpr std::chrono::milliseconds kCheckTime{30'000};   // for the engine's own checker
constexpr std::chrono::milliseconds kAnswerTime{10'000};  // for an engine to say what it has
constexpr std::chrono::milliseconds kReloadTime{3'000};   // for docker to read its file again
constexpr std::chrono::milliseconds kLookTime{100};       // between two questions

struct RuntimeOptions {
  std::vector<std::string> engines;
  std::string config;
  std::string name = "ipu";
  bool dry_run = false;
  bool make_default = false;
  Output output = Output::kTable;
};

// One engine as it is found here.
struct Site {
  Engine engine;
  std::string file;
  std::vector<hook::Daemon> daemons;  // those that read FILE
};

hook::Surroundings surroundings() {
  if (::geteuid() == 0) return {"", ""};
  const char* const config = std::getenv("XDG_CONFIG_HOME");
  const char* const home = std::getenv("HOME");
  if (config != nullptr && *config == '/') return {"", config};
  return {"", home != nullptr ? str(home, "/.config") : ""};
}

Result<Site> find_site(Engine engine, const std::string& config) {
  Site site{engine, config, {}};
  const std::vector<hook::Daemon> daemons = hook::daemons_of(engine);
  const hook::Surroundings where = surroundings();
  if (config.empty()) site.file = TRY(hook::file_of(engine, daemons, where));
  for (const hook::Daemon& daemon : daemons) {
    const Result<std::string> file = hook::file_of(engine, {daemon}, where);
    std::error_code err;
    if (file.ok() &&
        (file.value() == site.file || std::filesystem::equivalent(file.value(), site.file, err))) {
      site.daemons.push_back(daemon);
    }
  }
  return site;
}

// docker starts a containerd of its own; the handlers of CRI are for Kubernetes.
std::vector<Engine> installed_engines() {
  std::vector<Engine> found;
  const bool has_docker = hook::find_program("dockerd").ok();
  const bool has_kubelet = hook::find_program("kubelet").ok();
  for (const Engine engine : hook::kEngines) {
    const bool is_dockers = engine == Engine::kContainerd && has_docker && !has_kubelet;
    if (!is_dockers && hook::find_program(daemon_of(engine)).ok()) found.push_back(engine);
  }
  return found;
}

Result<std::vector<Engine>> chosen_engines(const RuntimeOptions& options) {
  std::vector<Engine> engines;
  for (const std::string& name : options.engines) {
    if (name != "auto") engines.push_back(TRY(hook::parse_engine(name)));
  }
  if (engines.empty()) engines = installed_engines();
  if (engines.empty()) {
    return Error(Code::kNotFound,
                 "there is no dockerd, containerd, crio or podman on this host;"
                 " install one, or name it: 'ipuctl runtime configure docker'");
  }
  if (!options.config.empty() && engines.size() != 1) {
    return Error(Code::kInvalid, "--config is the file of one engine; name that one");
  }
  return engines;
}

// dockerd does not start again where a key stands in its file and among its options.
Status check_options(const Site& site, const RuntimeOptions& options) {
  if (site.engine != Engine::kDocker) return {};
  for (const hook::Daemon& daemon : site.daemons) {
    const bool has_runtimes = hook::option_value(daemon.args, {"--add-runtime"}).has_value();
    const bool has_default =
        options.make_default && hook::option_value(daemon.args, {"--default-runtime"}).has_value();
    if (!has_runtimes && !has_default) continue;
    return Error(Code::kInvalid, str("dockerd (process ", daemon.process.pid, ") was started with ",
                                     has_runtimes ? "--add-runtime" : "--default-runtime",
                                     ", and does not start with the same key in ", site.file,
                                     "; take the option away first"));
  }
  return {};
}

std::string diff_text(const hook::FileEdit& edit) {
  return str("--- ", edit.before ? edit.path : "/dev/null", "\n+++ ",
             edit.after ? edit.path : "/dev/null", "\n",
             base::line_diff(edit.before.value_or(""), edit.after.value_or("")));
}

Listed opposite_of(Listed listed) { return listed == Listed::kYes ? Listed::kNo : Listed::kYes; }

Result<Listed> look(const Site& site, const std::string& name) {
  return hook::is_listed(site.engine, site.daemons, site.file, name, Deadline::after(kAnswerTime));
}

// Waits until the engine knows the runtime, or does not know it any more.
Result<Listed> wait_until(const Site& site, const std::string& name, Listed wanted) {
  const auto deadline = Deadline::after(kReloadTime);
  for (;;) {
    const Listed listed = TRY(look(site, name));
    if (listed == wanted || deadline.passed()) return listed;
    base::sleep_for(kLookTime, deadline);
  }
}

// Makes the engine read its file, and asks it; the line that says how that went.
Result<std::string> take_effect(const Site& site, const std::string& name, Listed wanted) {
  const hook::Reload done = TRY(hook::reload(site.engine, site.daemons));
  const std::string_view daemon = daemon_of(site.engine);
  if (done == hook::Reload::kRestart) {
    return str(name_of(site.engine), ": takes effect with 'systemctl restart ", daemon,
               "'; running containers go on\n");
  }
  if (done == hook::Reload::kNone && site.engine != Engine::kPodman) {
    return str(name_of(site.engine), ": no ", daemon, " runs with ", site.file,
               "; it takes effect when one starts\n");
  }
  if (site.engine == Engine::kCrio) return std::string("crio: was told to read its files again\n");
  const Listed listed = TRY(wait_until(site, name, wanted));
  const std::string runtime = base::quote(name);
  if (listed == wanted) {
    return str(name_of(site.engine),
               wanted == Listed::kYes ? ": lists" : ": does not list any more", " the runtime ",
               runtime, "\n");
  }
  if (wanted == Listed::kNo) {
    // dockerd keeps its runtimes where its file does not name any (20.10 to 24).
    return str(name_of(site.engine), ": lists the runtime ", runtime, " until ", daemon,
               " is started again; containers that run with it go on\n");
  }
  return Error(Code::kInternal,
               str(name_of(site.engine), " does not list the runtime ", runtime, " with ",
                   site.file, "; see the log of ", daemon, ", and restart it"));
}

enum class Way { kConfigure, kUnconfigure };

Result<std::string> change(const Site& site, const RuntimeOptions& options, Way way) {
  const bool adds = way == Way::kConfigure;
  if (adds) TRY(check_options(site, options));
  const hook::RuntimeEntry entry{options.name, hook::runtime_program(), options.make_default};
  const hook::FileEdit edit =
      TRY(adds ? hook::plan_configure(site.engine, site.file, entry)
               : hook::plan_unconfigure(site.engine, site.file, entry.name));
  const Listed wanted = adds ? Listed::kYes : Listed::kNo;
  std::string text = str(name_of(site.engine), ": ", edit.path,
                         adds ? " has the runtime\n" : " does not have the runtime\n");
  if (edit.before != edit.after) {
    text = diff_text(edit);
    if (options.dry_run) return text;
    if (edit.after) TRY(hook::check_text(site.engine, *edit.after, Deadline::after(kCheckTime)));
    TRY(hook::apply_edit(edit));
  } else if (options.dry_run || TRY(look(site, options.name)) != opposite_of(wanted)) {
    return text;  // done, also by the daemon
  }
  return text + TRY(take_effect(site, options.name, wanted));
}

// What stands in the way of one engine keeps no other from being done.
Result<Outcome> run_change(const RuntimeOptions& options, Way way) {
  Outcome outcome;
  for (const Engine engine : TRY(chosen_engines(options))) {
    const Result<Site> site = find_site(engine, options.config);
    Result<std::string> done =
        site.ok() ? change(site.value(), options, way) : Result<std::string>(site.error());
    if (done.ok()) {
      outcome.text += done.value();
    } else {
      outcome.obstacles.push_back(std::move(done).error());
    }
  }
  return outcome;
}

// ---- status

std::string_view in_use_text(const Result<Listed>& listed) {
  if (!listed.ok() || listed.value() == Listed::kUnknown) return "unknown";
  return listed.value() == Listed::kYes ? "yes" : "no";
}

Result<Outcome> run_status(const RuntimeOptions& options) {
  Rows rows{{"ENGINE", "FILE", "RUNTIME", "DEFAULT", "IN USE"}};
  Json list = Json::array();
  Outcome outcome;
  for (const Engine engine : TRY(chosen_engines(options))) {
    const Result<Site> site = find_site(engine, options.config);
    if (!site.ok()) {
      outcome.obstacles.push_back(site.error());
      continue;
    }
    const std::string& file = site.value().file;
    const Result<hook::Registered> found = hook::find_runtime(engine, file, options.name);
    if (!found.ok()) {
      outcome.obstacles.push_back(found.error());
      continue;
    }
    const std::string& path = found.value().path;
    const std::string_view in_use = in_use_text(look(site.value(), options.name));
    rows.push_back({std::string(name_of(engine)), file, path.empty() ? "-" : path,
                    found.value().is_default ? "yes" : "no", std::string(in_use)});
    list.push_back({{"engine", name_of(engine)},
                    {"file", file},
                    {"runtime", path},
                    {"default", found.value().is_default},
                    {"in_use", in_use}});
  }
  outcome.text = options.output == Output::kJson ? base::to_pretty_text(list) : table(rows);
  return outcome;
}

void declare(Options& declared, RuntimeOptions& options) {
  declared.arguments("ENGINE", options.engines,
                     "docker, containerd, crio or podman (default: auto, those of this host)");
  declared.text({"--config", "FILE", "The engine's file (default: what it uses)"}, options.config);
  declared.text({"--name", "NAME", "What the runtime is called (default: ipu)"}, options.name);
}

}  // namespace

void add_runtime_commands(CLI::App& app, Command& chosen) {
  CLI::App& group = add_group(app, "runtime", "Tell container engines about the runtime");
  const auto options = std::make_shared<RuntimeOptions>();
  Options configure =
      add_command(group, "configure", "Add the runtime to engines, and see that they have it",
                  chosen, [options] { return run_change(*options, Way::kConfigure); });
  declare(configure, *options);
  configure.flag("--dry-run", options->dry_run, "Only show what would change");
  configure.flag("--set-default", options->make_default,
                 "Use it for containers that name no runtime, too");
  Options unconfigure =
      add_command(group, "unconfigure", "Take away from engines what configure added", chosen,
                  [options] { return run_change(*options, Way::kUnconfigure); });
  declare(unconfigure, *options);
  unconfigure.flag("--dry-run", options->dry_run, "Only show what would change");
  Options status = add_command(group, "status", "Show which engines have the runtime", chosen,
                               [options] { return run_status(*options); });
  declare(status, *options);
  status.output(options->output);
}

}  // namespace ipuctl
