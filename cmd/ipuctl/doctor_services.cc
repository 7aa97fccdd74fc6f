// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/doctor_services.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/fs.h"
#include "base/log.h"
#include "base/names.h"
#include "base/rlimit.h"
#include "cmd/ipuctl/agent_client.h"
#include "cmd/ipuctl/hook_files.h"
#include "cmd/ipuctl/runtime_site.h"
#include "hook/config/paths.h"
#include "hook/engines/daemon.h"
#include "hook/engines/listing.h"
#include "hook/lifecycle/client_user.h"
#include "hook/lifecycle/endpoint/revive.h"
#include "hook/lifecycle/env.h"
#include "vipu/dial.h"

namespace ipuctl {
namespace {

using namespace base::names;
using doctor::Finding;
using doctor::Verdict;
using hook::engines::Engine;
using hook::engines::Listed;

constexpr std::chrono::milliseconds kAnswerTime{2000};
constexpr const char* kRuntime = "ipu";  // the name that 'runtime configure' gives
constexpr uint64_t kLeastMemlock =
    64 << 20;  // verbs lock their queues; a program of one IPU needs more
constexpr uint64_t kNoMemlock = 1 << 20;     // less holds not even the queues
constexpr uint64_t kLeastSpace = 1 << 20;    // less, and the ledger refuses to start anything
constexpr uint64_t kLittleSpace = 64 << 20;  // some thousand starts

// Returns what of CONFIG needs the programs that are linked with shared libraries; empty if
// nothing does.
std::string needs_shared(const hook::config::Config& config) {
  if (config.fleet) return "[fleet]";
  for (const hook::config::PoolConfig& pool : config.pools)
    if (pool.security.tls) return str("'tls' of pool ", quote(pool.name));
  return "";
}

// Distributions with RPM have the programs that are linked with shared libraries in a package of
// their own.
Finding examine_programs(const hook::config::Config& config) {
  const std::string check = "programs";
  std::vector<std::string> programs = {
      hook::config::runtime_program(), hook::config::start_program(), hook::config::hook_program(),
      hook::config::poststop_program(), hook::config::client_program() + "-plain"};
  const std::vector<std::string> shared = {hook::config::client_program(),
                                           hook::config::endpoint_program()};
  const bool has_shared = std::any_of(shared.begin(), shared.end(), [](const std::string& one) {
    return ::access(one.c_str(), F_OK) == 0;
  });
  if (has_shared) programs.insert(programs.end(), shared.begin(), shared.end());
  for (const std::string& program : programs) {
    if (::access(program.c_str(), X_OK) == 0) continue;
    return {check, Verdict::kFailed, Error::from_errno(errno, str("start ", program)).message(),
            kInstallAgain};
  }
  if (has_shared)
    return {check, Verdict::kOk,
            "the runtime, the hook, the V-IPU client and endpoint are installed", ""};
  const std::string need = needs_shared(config);
  if (need.empty())
    return {check, Verdict::kOk,
            "the runtime, the hook and the V-IPU client are installed; those for TLS, [fleet] and"
            " V-IPU endpoints are not",
            ""};
  return {
      check, Verdict::kFailed,
      str(need, " needs programs that are not installed: those for TLS, etcd and V-IPU endpoints"),
      kInstallShared};
}

Finding examine_space() {
  const std::string check = "disk";
  const std::string dir = hook::config::state_dir();
  struct statvfs disk {};
  if (::statvfs(dir.c_str(), &disk) != 0) {
    if (errno == ENOENT) return {check, Verdict::kOk, str(dir, " is not there yet"), ""};
    return {check, Verdict::kFailed, Error::from_errno(errno, str("look at ", dir)).message(),
            "make the folder readable for root"};
  }
  const uint64_t left = uint64_t{disk.f_bavail} * disk.f_frsize;
  const std::string says = str(left >> 20, " MiB are left for ", dir);
  if (left >= kLittleSpace) return {check, Verdict::kOk, says, ""};
  return {check, left < kLeastSpace ? Verdict::kFailed : Verdict::kWarning, says,
          str("free space on this disk, which 'df -h ", dir,
              "' shows; below 1 MiB no container with IPUs starts")};
}

// Returns nothing for a site without a log.
std::optional<Finding> examine_log(const hook::config::LogConfig& log) {
  if (!log.level || ::geteuid() != 0) return std::nullopt;
  const std::string check = "log";
  const Status writable = base::check_log(log.file);
  if (writable.ok())
    return Finding{check, Verdict::kOk,
                   str("steps of level ", name_of(*log.level), " and above go to ", log.file), ""};
  return Finding{check, Verdict::kWarning,
                 str("nothing is logged: ", base::one_line(writable.error().message(), 300)),
                 str("correct 'file' of [log] in ", hook::config::config_file(),
                     ", or make its directory, for root alone")};
}

// Returns what to do about a controller that gave this ERROR.
std::string controller_advice(const hook::config::PoolConfig& pool, const std::string& error) {
  const auto says = [&](std::string_view words) { return error.find(words) != std::string::npos; };
  const std::string correct = str("or correct 'controller' of pool ", quote(pool.name), " in ",
                                  hook::config::config_file());
  const std::string host = vipu::split_host_and_port(pool.controller).host;
  if (says(str("start \"", hook::config::client_program())))
    return pool.security.tls ? kInstallShared : kInstallAgain;
  if (says("DNS resolution failed"))
    return str("find out with 'getent hosts ", host, "' why its name is unknown, ", correct);
  if (says("unreachable") || says("No route to host"))
    return str("make a route to it, which 'ip route get ", host, "' must show, ", correct);
  if (says("refused"))
    return str("start the controller on its host, where 'ss -ltnp' must show that port, ", correct,
               "; 'ipuctl pool list' asks it again");
  return str("find out with 'ping ", host, "' what drops packets between this host and ", host,
             ", or whether the controller hangs, ", correct, "; 'ipuctl pool list' asks it again");
}

Finding examine_controller(hook::lifecycle::Env& env, const hook::config::PoolConfig& pool) {
  const std::string check = str("controller of ", pool.name);
  const Result<std::string> version = env.controller(pool)->version(Deadline::after(kAnswerTime));
  if (version.ok())
    return {check, Verdict::kOk, str(pool.controller, " answers, version ", version.value()), ""};
  const std::string error = base::one_line(version.error().message(), 300);
  return {check, Verdict::kFailed, error, controller_advice(pool, error)};
}

// Compares the IPU-Machines of a partition that exists with the rails of the configuration.
std::optional<Finding> examine_fabric(hook::lifecycle::Env& env, const hook::config::Config& config,
                                      const hook::config::PoolConfig& pool) {
  const auto controller = env.controller(pool);
  const std::string check = str("fabric of ", pool.name);
  const auto deadline = Deadline::after(kAnswerTime);  // of both calls
  const auto silent = [&](const Error& error) {
    return Finding{check, Verdict::kWarning,
                   str("nothing shows whether the rails reach the IPU-Machines: ",
                       base::one_line(error.message(), 300)),
                   "run 'ipuctl partition list', and look at the controller if it fails too"};
  };
  const auto partitions = controller->list(deadline);
  if (!partitions.ok()) return silent(partitions.error());
  if (partitions.value().empty()) {
    return Finding{check, Verdict::kWarning,
                   "no partition exists, so nothing shows whether the rails reach its IPU-Machines",
                   "run 'ipuctl doctor --try IMAGE' with an image of this host"};
  }
  const std::string& partition = partitions.value().front().id;
  const auto grant = controller->config(partition, 0, deadline);
  if (!grant.ok()) return silent(grant.error());
  if (grant.value().gcds.empty()) return std::nullopt;
  for (const vipu::IpuofDevice& device : grant.value().gcds.front().devices) {
    const Result<netns::Address> machine = netns::parse_address(device.ip);
    if (!machine.ok()) continue;
    const bool is_on_rail =
        std::any_of(config.network.rails.begin(), config.network.rails.end(),
                    [&](const auto& rail) { return rail.subnet.contains(machine.value()); });
    if (is_on_rail) continue;
    return Finding{check, Verdict::kFailed,
                   str("partition ", partition, " has an IPU-Machine at ", device.ip,
                       ", which is in the subnet of no [[network.rail]]"),
                   str("correct 'subnet' of the rail in ", hook::config::config_file(),
                       "; 'ipuctl partition config ", partition, "' shows all addresses")};
  }
  return Finding{check, Verdict::kOk,
                 str("the IPU-Machines of partition ", partition, " are on the rails"), ""};
}

// Returns nothing where no container can have an endpoint, and none has.
std::optional<Finding> examine_endpoints(hook::lifecycle::Env& env,
                                         const hook::config::Config& config) {
  const std::string check = "V-IPU endpoint";
  namespace endpoint = hook::lifecycle::endpoint;
  const auto ended = endpoint::find_ended(env, endpoint::Which::kAll);
  if (!ended.ok()) return Finding{check, Verdict::kWarning, ended.error().message(), ""};
  if (!ended.value().empty()) {
    const std::string& lease = ended.value().front().lease;
    return Finding{check, Verdict::kWarning,
                   str(ended.value().size(), " of running containers ended, such as that of lease ",
                       lease, "; their programs get no answer"),
                   str("run 'ipuctl gc', which starts them again; 'ipuctl explain ",
                       base::short_id(lease), "' shows what became of earlier attempts")};
  }
  const bool has_controller =
      std::any_of(config.pools.begin(), config.pools.end(),
                  [](const auto& pool) { return pool.provider == hook::config::Provider::kVipu; });
  if (!has_controller || !config.policy.vipu_endpoint) return std::nullopt;
  // examine_programs() says whether it is installed.
  if (::access(hook::config::endpoint_program().c_str(), F_OK) != 0) return std::nullopt;
  const Status own = hook::lifecycle::endpoint_user().is_its_own;
  if (own.ok()) return Finding{check, Verdict::kOk, "it has a user of its own", ""};
  return Finding{check, Verdict::kWarning, own.error().message(), ""};
}

// Returns the systemd unit of a daemon, by the name of its program.
std::string_view unit_of(std::string_view program) {
  if (program.ends_with("dockerd")) return "docker";
  return program.ends_with("crio") ? "crio" : "containerd";
}

// Judges how much memory a container may lock, if a daemon starts it. The one that starts it is
// containerd also under docker.
std::optional<Finding> examine_daemon_memlock(Engine engine,
                                              std::vector<hook::engines::Daemon> daemons) {
  if (engine == Engine::kDocker) {
    for (auto& daemon : hook::engines::find_daemons("/proc", "containerd"))
      daemons.push_back(std::move(daemon));
  }
  for (const hook::engines::Daemon& daemon : daemons) {
    const auto bytes = base::highest_memlock_of("/proc", daemon.process.pid);
    if (!bytes.ok() || bytes.value() >= kLeastMemlock) continue;
    const std::string name = daemon.args.empty() ? "?" : daemon.args.front();
    return Finding{str("engine ", name_of(engine), ": locked memory"),
                   bytes.value() < kNoMemlock ? Verdict::kFailed : Verdict::kWarning,
                   str(base::one_line(name, 100), " lets containers lock ", bytes.value() >> 10,
                       " KiB, which is too little for RDMA"),
                   str("run 'systemctl edit ", unit_of(name),
                       "', set LimitMEMLOCK=infinity below [Service], and run 'systemctl restart ",
                       unit_of(name), "'; or give it CAP_SYS_RESOURCE")};
  }
  return std::nullopt;
}

// Judges an engine whose file has the runtime, by what the running engine says.
Finding examine_registered(const Site& site, const hook::engines::Listing& listing) {
  const std::string check = str("engine ", name_of(site.engine));
  const std::string daemon(daemon_of(site.engine));
  if (listing.listed == Listed::kNo) {
    return {check, Verdict::kFailed, str(daemon, " has not read ", site.file),
            str("run 'systemctl restart ", name_of(site.engine), "'")};
  }
  if (site.daemons.empty()) {
    return {check, Verdict::kFailed, listing.why,
            str("run 'systemctl start ", name_of(site.engine), "'")};
  }
  // CRI-O never says what it has read.
  if (site.engine == Engine::kCrio)
    return {check, Verdict::kOk, str("it has the runtime (", listing.why, ")"), ""};
  return {check, Verdict::kWarning, str("it has the runtime, but may not know it: ", listing.why),
          str("run 'systemctl restart ", name_of(site.engine), "'")};
}

// Returns a finding on an engine that is installed; nothing if it does not have the runtime.
std::optional<Finding> examine_engine(Engine engine) {
  const std::string check = str("engine ", name_of(engine));
  const Result<Site> site = find_site(engine, "");
  if (!site.ok()) return Finding{check, Verdict::kWarning, site.error().message(), ""};
  const auto registered = hook::engines::find_runtime(engine, site.value().file, kRuntime);
  if (!registered.ok()) return Finding{check, Verdict::kWarning, registered.error().message(), ""};
  const bool has_runtime = !registered.value().path.empty();
  if (engine == Engine::kPodman) {
    // It has no daemon that could have another opinion, and takes long to answer.
    if (!has_runtime) return std::nullopt;
    return Finding{check, Verdict::kOk, "it has the runtime", ""};
  }
  const hook::engines::Listing listing = hook::engines::find_listing(
      engine, site.value().daemons, site.value().file, kRuntime, Deadline::after(kAnswerTime));
  // dockerd may also have it from its command line.
  if (listing.listed == Listed::kYes)
    return Finding{check, Verdict::kOk, "it has the runtime and knows it", ""};
  if (!has_runtime) return std::nullopt;
  return examine_registered(site.value(), listing);
}

void examine_engines(std::vector<Finding>& findings) {
  const Result<std::vector<Engine>> engines = choose_engines({}, kRuntime);
  if (!engines.ok()) {
    findings.push_back({"engines", Verdict::kWarning, engines.error().message(), ""});
    return;
  }
  const size_t before = findings.size();
  for (const Engine engine : engines.value()) {
    std::optional<Finding> finding = examine_engine(engine);
    if (!finding) continue;
    findings.push_back(std::move(*finding));
    const Result<Site> site = find_site(engine, "");
    if (!site.ok()) continue;
    finding = examine_daemon_memlock(engine, site.value().daemons);
    if (finding) findings.push_back(std::move(*finding));
  }
  if (findings.size() != before) return;
  if (!hook_files().empty()) {
    findings.push_back({"engines", Verdict::kOk, "podman and CRI-O have the hook", ""});
    return;
  }
  findings.push_back(
      {"engines", Verdict::kFailed, "no engine has the runtime, and podman and CRI-O lack the hook",
       str("run 'ipuctl runtime configure ", name_of(engines.value().front()), "'")});
}

// Returns nothing for a host that does without it.
std::optional<Finding> examine_agent() {
  switch (find_agent(kAnswerTime)) {
    case AgentState::kAbsent:
      return std::nullopt;
    case AgentState::kAnswers:
      return Finding{"agent", Verdict::kOk, "ipu-agent answers users without root", ""};
    case AgentState::kSilent:
      break;
  }
  return Finding{"agent", Verdict::kWarning,
                 "ipu-agent does not answer: users without root cannot use ipuctl, and what is due"
                 " is done at the next start or by the timer",
                 "run 'systemctl restart ipu-agent.socket ipu-agent.service'"};
}

}  // namespace

std::vector<Finding> examine_services(const hook::config::Config& config,
                                      Result<hook::ledger::Ledger>& ledger) {
  std::vector<Finding> findings{examine_programs(config), examine_space()};
  if (std::optional<Finding> log = examine_log(config.log)) findings.push_back(std::move(*log));
  const bool has_client = ::access((hook::config::client_program() + "-plain").c_str(), X_OK) == 0;
  if (ledger.ok() && has_client) {
    hook::lifecycle::Env env = hook::lifecycle::product_env(ledger.value());
    for (const hook::config::PoolConfig& pool : config.pools) {
      if (pool.provider != hook::config::Provider::kVipu) continue;
      findings.push_back(examine_controller(env, pool));
      if (findings.back().verdict != Verdict::kOk) continue;
      std::optional<Finding> fabric = examine_fabric(env, config, pool);
      if (fabric) findings.push_back(std::move(*fabric));
    }
    std::optional<Finding> endpoints = examine_endpoints(env, config);
    if (endpoints) findings.push_back(std::move(*endpoints));
  }
  if (ledger.ok()) {
    hook::lifecycle::Env env = hook::lifecycle::product_env(ledger.value());
    std::optional<Finding> tenants = examine_tenants(env, config);
    if (tenants) findings.push_back(std::move(*tenants));
    std::optional<Finding> fleet = examine_fleet(config, ledger.value());
    if (fleet) findings.push_back(std::move(*fleet));
    std::optional<Finding> monitor = examine_monitor(env, config);
    if (monitor) findings.push_back(std::move(*monitor));
  }
  examine_engines(findings);
  std::optional<Finding> agent = examine_agent();
  if (agent) findings.push_back(std::move(*agent));
  return findings;
}

}  // namespace ipuctl
