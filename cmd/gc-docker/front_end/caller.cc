// SPDX-License-Identifier: Apache-2.0
#include "cmd/gc-docker/front_end/caller.h"

#include "base/names.h"
#include "base/text.h"

namespace front {
namespace {

using namespace base::names;
using Kind = IpuofSource::Kind;
using From = IpuofSource::From;

std::string value_of(const Variables& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? "" : found->second.value_or("");
}

bool is_below(const std::string& path, const std::string& directory) {
  return path == directory || path.starts_with(str(directory, "/"));
}

// A source without a slash is the name of a docker volume.
bool is_host_path(const std::string& source) { return source.find('/') != std::string::npos; }

// Returns the host's path of PATH in the container; empty if PATH is not mounted from the host.
std::string host_path(const DockerArguments& arguments, const std::string& path) {
  for (const DockerMount& mount : mounts_of(arguments)) {
    if (mount.target.empty() || !is_host_path(mount.source)) continue;
    if (is_below(path, mount.target)) {
      return str(mount.source, path.substr(mount.target.size()));
    }
  }
  return "";
}

void add_given(const DockerArguments& arguments, const Variables& given,
               std::vector<IpuofSource>& sources) {
  const std::string partition = value_of(given, "IPUOF_VIPU_API_PARTITION_ID");
  if (!partition.empty()) {
    sources.push_back(
        {Kind::kPartition, From::kArguments, "IPUOF_VIPU_API_PARTITION_ID", partition});
  }
  const std::string file = host_path(arguments, value_of(given, "IPUOF_CONFIG_PATH"));
  if (!file.empty()) {
    sources.push_back({Kind::kPlace, From::kArguments, "IPUOF_CONFIG_PATH", file});
  }
  for (const DockerMount& mount : ipuof_mounts(arguments)) {
    if (!is_host_path(mount.source)) continue;
    sources.push_back({Kind::kPlace, From::kArguments, mount.target, mount.source});
  }
}

}  // namespace

std::vector<DockerMount> ipuof_mounts(const DockerArguments& arguments) {
  std::vector<DockerMount> mounts;
  for (const DockerMount& mount : mounts_of(arguments)) {
    if (is_below(mount.target, std::string(kIpuofDirectory))) mounts.push_back(mount);
  }
  return mounts;
}

std::vector<IpuofSource> ipuof_sources(const DockerArguments& arguments,
                                       const Variables& explicit_ones, const Variables& caller) {
  std::vector<IpuofSource> sources;
  add_given(arguments, explicit_ones, sources);
  const auto add = [&](Kind kind, const std::string& variable) {
    const std::string value = value_of(caller, variable);
    // A user who passes the variable with -e, even empty, does not want the caller's value.
    if (value.empty() || explicit_ones.contains(variable)) return;
    sources.push_back({kind, From::kEnvironment, variable, value});
  };
  add(Kind::kPlace, "IPUOF_CONFIG_PATH");
  add(Kind::kPartition, "IPUOF_VIPU_API_PARTITION_ID");
  const std::string home = value_of(caller, "HOME");
  if (!home.empty()) {
    const std::string directory = str(home, "/.ipuof.conf.d");
    sources.push_back({Kind::kPlace, From::kDirectory, directory, directory});
  }
  const std::string directory(kIpuofDirectory);
  sources.push_back({Kind::kPlace, From::kDirectory, directory, directory});
  return sources;
}

Result<std::optional<IpuofSource>> choose_source(const std::vector<IpuofSource>& sources,
                                                 const Caller& caller) {
  for (const IpuofSource& source : sources) {
    if (source.kind == Kind::kPartition) return std::optional<IpuofSource>(source);
    const auto place = caller.places.find(source.value);
    if (place != caller.places.end() && !place->second.files.empty()) {
      return std::optional<IpuofSource>(source);
    }
    if (source.from == From::kDirectory) continue;
    return Error(Code::kNotFound,
                 str(source.name, " is ", base::quote(source.value),
                     ", but there is no IPUoF file; set it to an existing file, or unset it"));
  }
  return std::optional<IpuofSource>();
}

HostKind host_kind(const Caller& caller, const std::optional<IpuofSource>& source) {
  if (source && source->from != From::kDirectory) return HostKind::kPod;
  if (!caller.pools.empty()) {
    return caller.pools.front().provider == hook::config::Provider::kPcie ? HostKind::kCards
                                                                          : HostKind::kPod;
  }
  if (!caller.cards.empty()) return HostKind::kCards;
  const bool is_pod = source || !value_of(caller.environment, "VIPU_CLI_API_HOST").empty() ||
                      !value_of(caller.environment, "IPUOF_VIPU_API_HOST").empty();
  return is_pod ? HostKind::kPod : HostKind::kNone;
}

}  // namespace front
