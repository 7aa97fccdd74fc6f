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

// The folder of a local volume, by docker's and podman's default. Only root can read it.
std::string folder_of(const std::string& volume, const std::string& engine) {
  return str(
      engine == "podman" ? "/var/lib/containers/storage/volumes/" : "/var/lib/docker/volumes/",
      volume, "/_data");
}

// Returns where PATH of the container is on the host; nothing if no mount leads there.
std::optional<IpuofSource> host_place(const DockerArguments& arguments, const std::string& path,
                                      const std::string& engine) {
  for (const DockerMount& mount : mounts_of(arguments)) {
    if (mount.target.empty() || mount.source.empty() || !is_below(path, mount.target)) continue;
    const std::string volume = is_host_path(mount.source) ? "" : mount.source;
    const std::string folder = volume.empty() ? mount.source : folder_of(volume, engine);
    return IpuofSource{Kind::kPlace, From::kArguments, "IPUOF_CONFIG_PATH",
                       str(folder, path.substr(mount.target.size())), volume};
  }
  return std::nullopt;
}

void add_given(const DockerArguments& arguments, const Variables& given, const std::string& engine,
               std::vector<IpuofSource>& sources) {
  const std::string partition = value_of(given, "IPUOF_VIPU_API_PARTITION_ID");
  if (!partition.empty()) {
    sources.push_back(
        {Kind::kPartition, From::kArguments, "IPUOF_VIPU_API_PARTITION_ID", partition});
  }
  const std::optional<IpuofSource> file =
      host_place(arguments, value_of(given, "IPUOF_CONFIG_PATH"), engine);
  if (file) sources.push_back(*file);
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
                                       const Variables& explicit_ones, const Variables& environment,
                                       const std::string& engine) {
  std::vector<IpuofSource> sources;
  add_given(arguments, explicit_ones, engine, sources);
  const auto add = [&](Kind kind, const std::string& variable) {
    const std::string value = value_of(environment, variable);
    // A user who passes the variable with -e, even empty, does not want the caller's value.
    if (value.empty() || explicit_ones.contains(variable)) return;
    sources.push_back({kind, From::kEnvironment, variable, value});
  };
  add(Kind::kPlace, "IPUOF_CONFIG_PATH");
  add(Kind::kPartition, "IPUOF_VIPU_API_PARTITION_ID");
  const std::string home = value_of(environment, "HOME");
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
    if (!source.volume.empty()) {
      return Error(
          Code::kNotFound,
          str(source.name, " is in the volume ", base::quote(source.volume),
              ", in which no IPUoF file can be read; give --count N for a new partition, or"
              " -e IPU_PARTITION=NAME for one that exists"));
    }
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
