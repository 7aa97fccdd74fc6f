// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/doctor/doctor.h"

#include <sys/resource.h>

#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/doctor/device_links.h"
#include "cmd/ipuctl/doctor/rail_findings.h"
#include "hook/lifecycle/client_user.h"

namespace ipuctl::doctor {
namespace {

using namespace base::names;

Finding examine_configuration(const Result<hook::config::Config>& config) {
  constexpr const char* kCheck = "configuration";
  if (config.ok()) return {kCheck, Verdict::kOk, "it is valid", ""};
  const std::string& message = config.error().message();
  const size_t command = message.find("; run '");
  if (command == std::string::npos)
    return {kCheck, Verdict::kFailed, message, "see ipu-container-toolkit(5)"};
  return {kCheck, Verdict::kFailed, message.substr(0, command), message.substr(command + 2)};
}

Finding examine_filter(const HostState& state) {
  constexpr const char* kCheck = "packet filter";
  if (!state.filter) {
    return {kCheck, Verdict::kWarning, "not tried without root", "run ipuctl doctor as root"};
  }
  if (!state.filter->ok()) {
    return finding_of(kCheck, Verdict::kFailed, state.filter->error().message());
  }
  return {kCheck, Verdict::kOk, "the kernel accepts the filter of a container", ""};
}

Finding examine_border(const hook::config::NetworkConfig& network, const HostState& state) {
  constexpr const char* kCheck = "border";
  if (network.filter == netns::FilterPlace::kNamespace) {
    return {
        kCheck, Verdict::kWarning,
        "frames are filtered in the containers' namespaces alone, which CAP_NET_RAW there passes",
        "leave out 'filter' of [network], if the kernel is Linux 4.18 or newer"};
  }
  if (!state.border) {
    return {kCheck, Verdict::kWarning, "not tried without root", "run ipuctl doctor as root"};
  }
  if (state.border->ok()) {
    const bool is_tc = state.border->value() == netns::FilterPlace::kTc;
    return {kCheck, Verdict::kOk,
            str("the kernel filters the frames of containers on their parent by ",
                is_tc ? "tc" : "nftables"),
            ""};
  }
  const bool is_required = network.filter != netns::FilterPlace::kAuto;
  return finding_of(kCheck, is_required ? Verdict::kFailed : Verdict::kWarning,
                    state.border->error().message());
}

// Judges what passes beside the containers, until the operator decides.
std::optional<Finding> examine_others(const hook::config::NetworkConfig& network,
                                      const HostState& state) {
  constexpr const char* kCheck = "other MACs";
  std::vector<std::string> undecided;
  for (const hook::config::RailConfig& rail : network.rails) {
    if (!rail.parent.empty() && !rail.others) undecided.push_back(rail.parent);
  }
  const bool has_border =
      network.filter != netns::FilterPlace::kNamespace && state.border && state.border->ok();
  if (undecided.empty() || !has_border) return std::nullopt;
  std::vector<std::string> seen;
  for (const netns::MacAddress& mac : state.others) seen.push_back(netns::to_string(mac));
  const std::string parents = base::join(undecided, ", ");
  if (seen.empty()) {
    return Finding{kCheck, Verdict::kWarning,
                   str("frames of foreign MACs pass on ", parents, ", but none was seen"),
                   "set others = \"drop\" in each [[network.rail]]"};
  }
  return Finding{
      kCheck, Verdict::kWarning,
      str("frames of foreign MACs pass on ", parents, "; seen: ", base::join(seen, ", ")),
      "set others = \"pass\" in [[network.rail]] if these must pass, else \"drop\""};
}

// "A, B and 5 more".
std::string list_of(const std::vector<netns::Flow>& flows) {
  constexpr size_t kMost = 10;
  std::vector<std::string> shown;
  for (const netns::Flow& flow : flows) {
    if (shown.size() < kMost) shown.push_back(netns::to_string(flow));
  }
  const std::string more = flows.size() > kMost ? str(" and ", flows.size() - kMost, " more") : "";
  return base::join(shown, ", ") + more;
}

Finding examine_forwarding(const hook::config::NetworkConfig& network, const HostState& state) {
  constexpr const char* kCheck = "forwarding";
  if (!network.guard_forwarding) {
    const std::string now = state.flows.empty() ? "" : str("; now: ", list_of(state.flows));
    return {kCheck, Verdict::kWarning,
            str("containers without IPUs reach the fabric and the controllers if the host forwards",
                now),
            "set guard_forwarding = true in [network], and what must stay in forward_allowed"};
  }
  if (!*network.guard_forwarding) {
    return {kCheck, Verdict::kOk, "what the host forwards is not guarded, as configured", ""};
  }
  if (!state.has_guard) {
    return {kCheck, Verdict::kWarning, "not looked at without root", "run ipuctl doctor as root"};
  }
  if (!*state.has_guard) {
    return {kCheck, Verdict::kWarning, "the table inet ipu-guard is not there",
            "run ipuctl gc, and enable ipu-border.service"};
  }
  return {kCheck, Verdict::kOk, "the host forwards nothing to the fabric and the controllers", ""};
}

bool shares_an_rnic(const hook::config::NetworkConfig& network) {
  return std::any_of(network.rails.begin(), network.rails.end(),
                     [](const hook::config::RailConfig& rail) { return rail.functions.empty(); });
}

Finding examine_rdma_mode(const hook::config::NetworkConfig& network, const HostState& state) {
  constexpr const char* kCheck = "RDMA mode";
  if (!state.rdma_mode.ok()) {
    return finding_of(kCheck, Verdict::kFailed, state.rdma_mode.error().message());
  }
  const std::optional<netns::RdmaMode>& mode = state.rdma_mode.value();
  if (!mode) {
    const bool is_needed = network.rdma == hook::config::RdmaUse::kRequire;
    return {kCheck, is_needed ? Verdict::kFailed : Verdict::kWarning, "this kernel has no RDMA",
            "load the RNIC's RDMA driver, such as mlx5_ib"};
  }
  if (*mode == netns::RdmaMode::kShared) {
    if (shares_an_rnic(network)) return {kCheck, Verdict::kOk, "shared", ""};
    return {kCheck, Verdict::kWarning,
            "shared: every container can use the RDMA devices of the others",
            "rdma system set netns exclusive, or 'options ib_core netns_mode=0' in modprobe.d"};
  }
  if (!shares_an_rnic(network)) return {kCheck, Verdict::kOk, "exclusive", ""};
  return {kCheck, Verdict::kFailed,
          "exclusive: a macvlan in a container cannot use the RDMA device of its parent",
          "at boot, before any container: rdma system set netns shared, or"
          " 'options ib_core netns_mode=1' in modprobe.d"};
}

Finding examine_memlock(const HostState& state) {
  constexpr const char* kCheck = "locked memory";
  if (!state.memlock.ok()) {
    return finding_of(kCheck, Verdict::kFailed, state.memlock.error().message());
  }
  if (state.memlock.value() == RLIM_INFINITY) {
    return {kCheck, Verdict::kOk, "containers may lock all of their memory, as RDMA requires", ""};
  }
  return {kCheck, Verdict::kWarning,
          str("containers may lock ", state.memlock.value(),
              " bytes at most, which is too little for RDMA"),
          "set LimitMEMLOCK=infinity below [Service] with 'systemctl edit' of the engine's unit, or"
          " give the engine CAP_SYS_RESOURCE; 'ulimit -l' in a container shows what it may"};
}

// Judges whether this host shares the IPUs of a file with other hosts, which nothing else shows.
std::optional<Finding> examine_part(const hook::config::PoolConfig& pool) {
  if (pool.provider != hook::config::Provider::kIpuof || pool.part) return std::nullopt;
  return Finding{
      str("part of pool ", pool.name), Verdict::kWarning,
      str("any other host with ", pool.file, " uses the same IPUs"),
      str("set in pool ", quote(pool.name), " part = \"0-255\", all, if no other host has",
          " the file; else another part on each host, such as \"0-15\" and \"16-31\"")};
}

template <typename T>
Finding examine_result(const char* check, const Result<T>& result, std::string when_ok) {
  if (!result.ok()) return finding_of(check, Verdict::kFailed, result.error().message());
  return {check, Verdict::kOk, std::move(when_ok), ""};
}

// Judges whether ipu-vipu-client gets the credentials and keys that the pools have.
std::optional<Finding> examine_client_user(const hook::config::Config& config,
                                           const HostState& state) {
  const auto has_secrets = [](const hook::config::PoolConfig& pool) {
    return hook::lifecycle::has_secrets(pool.security);
  };
  if (std::none_of(config.pools.begin(), config.pools.end(), has_secrets)) return std::nullopt;
  return examine_result("V-IPU client", state.client_user, "it has a user of its own");
}

std::optional<Finding> examine_forbidden_calls(const HostState& state) {
  if (state.forbidden_call.empty()) return std::nullopt;
  return Finding{"system calls", Verdict::kWarning,
                 str("a program of the toolkit was ended: ", state.forbidden_call),
                 str("look for an attack, report a bug of the toolkit, and remove ",
                     hook::config::forbidden_calls_file())};
}

std::optional<Finding> examine_crashes(const HostState& state) {
  if (state.crash.empty()) return std::nullopt;
  return Finding{"crashes", Verdict::kWarning, state.crash,
                 str("report a bug of the toolkit with the file of 'ipuctl support-bundle', and"
                     " remove ",
                     hook::config::crashes_file())};
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kWarning:
      return "warning";
    case Verdict::kFailed:
      return "failed";
    case Verdict::kOk:
      break;
  }
  return "ok";
}

Finding finding_of(std::string check, Verdict verdict, const std::string& message) {
  const size_t end = message.find("; ");
  return {std::move(check), verdict, message.substr(0, end),
          end == std::string::npos ? "" : message.substr(end + 2)};
}

std::vector<Finding> examine(const Result<hook::config::Config>& config, const HostState& state) {
  std::vector<Finding> findings;
  findings.push_back(examine_configuration(config));
  findings.push_back(examine_result("low-level runtime", state.runtime,
                                    state.runtime.ok() ? state.runtime.value() : ""));
  findings.push_back(examine_result("ledger", state.ledger, "it can be opened"));
  const std::optional<Finding> forbidden = examine_forbidden_calls(state);
  if (forbidden) findings.push_back(*forbidden);
  const std::optional<Finding> crash = examine_crashes(state);
  if (crash) findings.push_back(*crash);
  if (state.device_links) examine_device_links(*state.device_links, findings);
  if (!config.ok()) return findings;
  const std::optional<Finding> client = examine_client_user(config.value(), state);
  if (client) findings.push_back(*client);
  for (const hook::config::PoolConfig& pool : config.value().pools) {
    if (const std::optional<Finding> part = examine_part(pool)) findings.push_back(*part);
  }
  if (config.value().network.rails.empty()) return findings;
  const hook::config::NetworkConfig& network = config.value().network;
  findings.push_back(examine_filter(state));
  if (shares_an_rnic(network)) findings.push_back(examine_border(network, state));
  const std::optional<Finding> others = examine_others(network, state);
  if (others) findings.push_back(*others);
  findings.push_back(examine_forwarding(network, state));
  if (network.rdma != hook::config::RdmaUse::kOff) {
    findings.push_back(examine_rdma_mode(network, state));
    findings.push_back(examine_memlock(state));
  }
  for (size_t i = 0; i < std::min(network.rails.size(), state.rails.size()); ++i) {
    examine_rail(network, network.rails[i], state, state.rails[i], findings);
  }
  return findings;
}

}  // namespace ipuctl::doctor
