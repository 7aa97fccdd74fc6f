// SPDX-License-Identifier: Apache-2.0
#include "cmd/gc-docker/front_end/host_network.h"

#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "cmd/gc-docker/front_end/ask.h"

namespace front {
namespace {

using namespace base::names;
using Options = std::vector<std::string>;

// The variables that IPUoF reads besides IPUOF_CONFIG_PATH.
constexpr const char* kForwarded[] = {"IPUOF_VIPU_API_HOST", "IPUOF_VIPU_API_PORT",
                                      "IPUOF_VIPU_API_PARTITION_ID", "IPUOF_VIPU_API_GCD_ID",
                                      "IPUOF_VIPU_API_TIMEOUT"};

void add_variable(const std::string& name, const std::string& value, Options& options) {
  options.insert(options.end(), {"-e", str(name, "=", value)});
}

void forward(const char* name, const Caller& caller, const Variables& explicit_ones,
             Options& options) {
  const auto set = caller.environment.find(name);
  if (set == caller.environment.end() || !set->second || explicit_ones.contains(name)) return;
  add_variable(name, *set->second, options);
}

void mount_place(const IpuofPlace& place, Options& options) {
  if (place.is_directory) {
    options.insert(options.end(), {"-v", str(place.path, ":", kIpuofDirectory)});
    return;
  }
  const std::string target = str(kIpuofDirectory, place.path.substr(place.path.rfind('/')));
  options.insert(options.end(), {"-v", str(place.path, ":", target, ":ro")});
  add_variable("IPUOF_CONFIG_PATH", target, options);
}

// Passes a file or the variables of the controller, never both: they might belong to different
// partitions.
void add_source(const Caller& caller, const IpuofSource& source, const Variables& explicit_ones,
                Options& options) {
  if (source.kind == IpuofSource::Kind::kPartition) {
    for (const char* name : kForwarded) forward(name, caller, explicit_ones, options);
  } else if (source.from != IpuofSource::From::kArguments) {
    mount_place(caller.places.at(source.value), options);
  }
}

Status add_cards(const Caller& caller, const std::vector<uint32_t>& ids, Options& options) {
  const std::vector<uint32_t> chosen = TRY(choose_cards(caller, ids));
  for (const vipu::Card& card : caller.cards) {
    if (std::find(chosen.begin(), chosen.end(), card.number) == chosen.end()) continue;
    for (const vipu::CardNode& node : card.nodes) {
      options.push_back(str("--device=", node.path, ":", node.path));
    }
  }
  return {};
}

}  // namespace

Result<Options> host_network_options(const Caller& caller, const FrontEndArguments& arguments,
                                     const DockerArguments& docker,
                                     const Variables& explicit_ones) {
  const std::optional<IpuofSource> source = TRY(choose_source(
      ipuof_sources(docker, explicit_ones, caller.environment, caller.engine), caller));
  Options options = {"--ulimit", "memlock=-1:-1"};
  // docker refuses a second --network.
  if (!has_option(docker, "network")) options.emplace_back("--net=host");
  options.emplace_back("--cap-add=IPC_LOCK");
  if (!has_option(docker, "ipc")) options.emplace_back("--ipc=host");
  if (!arguments.device_ids.empty() || host_kind(caller, source) == HostKind::kCards) {
    TRY(add_cards(caller, arguments.device_ids, options));
    return options;
  }
  if (!source) return no_source();
  if (caller.infiniband) options.emplace_back("--device=/dev/infiniband/");
  add_source(caller, *source, explicit_ones, options);
  return options;
}

}  // namespace front
