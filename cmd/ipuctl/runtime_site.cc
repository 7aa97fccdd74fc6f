// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/runtime_site.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/names.h"
#include "base/text.h"
#include "hook/engines/docker_config.h"
#include "hook/engines/dockerd_service.h"
#include "hook/engines/program.h"

namespace ipuctl {
namespace {

using namespace base::names;

constexpr std::chrono::seconds kVersionTime{5};  // for one program
using hook::engines::Engine;

hook::engines::Surroundings surroundings() {
  if (::geteuid() == 0) return {};
  const char* const config = std::getenv("XDG_CONFIG_HOME");
  const char* const home = std::getenv("HOME");
  if (config != nullptr && *config == '/') return {"", false, config};
  return {"", false, home != nullptr && *home == '/' ? str(home, "/.config") : ""};
}

// Returns the daemons in RUNNING. If there are none, returns for root's docker a daemon with the
// options of its service.
std::vector<hook::engines::Daemon> started_daemons(
    Engine engine, const std::vector<hook::engines::Daemon>& running) {
  if (!running.empty() || engine != Engine::kDocker || ::geteuid() != 0) return running;
  return {{{}, hook::engines::read_dockerd_args("")}};
}

std::vector<hook::engines::Daemon> readers_of(const std::string& path, Engine engine,
                                              const std::vector<hook::engines::Daemon>& daemons) {
  std::vector<hook::engines::Daemon> readers;
  for (const hook::engines::Daemon& daemon : daemons) {
    const Result<std::string> file = hook::engines::file_of(engine, {daemon}, surroundings());
    std::error_code err;
    if (file.ok() &&
        (file.value() == path || std::filesystem::equivalent(file.value(), path, err))) {
      readers.push_back(daemon);
    }
  }
  return readers;
}

// Returns whether the file that ENGINE reads has the runtime NAME.
bool has_runtime(Engine engine, const std::string& name) {
  const Result<Site> site = find_site(engine, "");
  if (!site.ok()) return false;
  const auto found = hook::engines::find_runtime(engine, site.value().file, name);
  return found.ok() && !found.value().path.empty();
}

// Leaves out containerd if docker is installed and Kubernetes is not: docker starts a containerd of
// its own, and only Kubernetes uses CRI handlers. But its file may have the runtime.
std::vector<Engine> installed_engines(const std::string& registered) {
  std::vector<Engine> found;
  const bool has_docker = hook::engines::find_program("dockerd").ok();
  const bool has_kubelet = hook::engines::find_program("kubelet").ok();
  for (const Engine engine : hook::engines::kEngines) {
    bool is_dockers = engine == Engine::kContainerd && has_docker && !has_kubelet;
    if (is_dockers && !registered.empty()) is_dockers = !has_runtime(engine, registered);
    if (!is_dockers && hook::engines::find_program(daemon_of(engine)).ok()) found.push_back(engine);
  }
  return found;
}

}  // namespace

Result<Site> find_site(Engine engine, const std::string& config) {
  Site site{engine, config, {}, {}};
  const std::vector<hook::engines::Daemon> running = hook::engines::daemons_of(engine);
  const std::vector<hook::engines::Daemon> started = started_daemons(engine, running);
  if (config.empty()) site.file = TRY(hook::engines::file_of(engine, started, surroundings()));
  site.daemons = readers_of(site.file, engine, running);
  site.started = readers_of(site.file, engine, started);
  return site;
}

Result<EngineState> find_state(Engine engine, const std::string& config, const std::string& name,
                               const base::Deadline& deadline) {
  const Site site = TRY(find_site(engine, config));
  EngineState state{site.file, {}, {}};
  state.found = TRY(hook::engines::find_runtime(engine, site.file, name));
  state.listing = hook::engines::find_listing(site.engine, site.daemons, site.file, name, deadline);
  return state;
}

std::string_view word_of(hook::engines::Listed listed) {
  if (listed == hook::engines::Listed::kUnknown) return "unknown";
  return listed == hook::engines::Listed::kYes ? "yes" : "no";
}

std::vector<ProgramVersion> program_versions(const base::Deadline& deadline) {
  std::vector<ProgramVersion> versions;
  for (const char* const name :
       {"docker", "dockerd", "containerd", "crio", "podman", "runc", "crun"}) {
    const Result<std::string> program = hook::engines::find_program(name);
    if (!program.ok()) continue;
    const auto answer =
        hook::engines::ask(program.value(), {"--version"}, deadline.capped(kVersionTime));
    Result<std::string> says =
        answer.ok() ? Result<std::string>(answer.value().out) : Result<std::string>(answer.error());
    versions.push_back({name, program.value(), std::move(says)});
  }
  return versions;
}

Result<std::vector<Engine>> choose_engines(const std::vector<std::string>& names,
                                           const std::string& registered) {
  std::vector<Engine> engines;
  for (const std::string& name : names) {
    if (name != "auto") engines.push_back(TRY(hook::engines::parse_engine(name)));
  }
  if (engines.empty()) engines = installed_engines(registered);
  if (engines.empty()) {
    return Error(
        Code::kNotFound,
        "find container engines: no dockerd, containerd, crio or podman is installed on this"
        " host; install one, or name one, such as 'ipuctl runtime configure docker'");
  }
  return engines;
}

Status check_options(const Site& site, const hook::engines::RuntimeEntry& entry) {
  if (site.engine != Engine::kDocker) return {};
  for (const hook::engines::Daemon& daemon : site.started) {
    const bool runs = daemon.process.pid != 0;
    const std::string who = runs ? str("dockerd (process ", daemon.process.pid, ")")
                                 : std::string("dockerd (by its service)");
    TRY(hook::engines::check_docker_options(daemon.args, who, entry, site.file));
  }
  return {};
}

// Prefers the conmon of CRI-O's packages, which they install outside of CRI-O's PATH.
std::string monitor_program() {
  constexpr const char* kOfCrio = "/usr/libexec/crio/conmon";
  if (::access(kOfCrio, X_OK) == 0) return kOfCrio;
  const Result<std::string> found = hook::engines::find_program("conmon");
  return found.ok() ? found.value() : "";
}

}  // namespace ipuctl
