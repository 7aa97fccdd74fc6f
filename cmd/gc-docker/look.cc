// SPDX-License-Identifier: Apache-2.0
#include "cmd/gc-docker/look.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "base/text.h"
#include "hook/config/paths.h"
#include "vipu/local/cards.h"
#include "vipu/local/ipuof_file.h"

namespace front {
namespace {

using base::Result;
namespace fs = std::filesystem;

constexpr size_t kMaxEnvFile = size_t{1} << 20;
constexpr size_t kMaxFiles = 1000;  // of one directory

hook::Variables environment() {
  hook::Variables variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals == std::string::npos) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

std::vector<std::string> env_files(const hook::DockerArguments& docker) {
  std::vector<std::string> texts;
  for (const hook::DockerOption& option : docker.options) {
    // A pipe can be read once, which is docker's.
    std::error_code err;
    if (option.name != "env-file" || !fs::is_regular_file(option.value, err)) continue;
    Result<std::string> text = base::read_file(option.value, kMaxEnvFile);
    if (text.ok()) texts.push_back(std::move(text).take());
  }
  return texts;
}

// PATH without links; as it is, if it is not there.
std::string real_path(const std::string& path) {
  std::error_code err;
  const fs::path real = fs::canonical(path, err);
  return err ? path : real.string();
}

hook::IpuofFile read_ipuof(const fs::path& path) {
  hook::IpuofFile file{real_path(path.string())};
  const Result<std::string> text = base::read_file(file.path, vipu::local::kMaxIpuofFile);
  if (!text.ok()) return file;
  const Result<vipu::IpuofConfig> config = vipu::local::parse_ipuof_file(text.value(), file.path);
  if (config.ok()) file.ipus = static_cast<uint32_t>(config.value().devices.size());
  return file;
}

std::vector<hook::IpuofFile> files_in(const fs::path& directory) {
  std::vector<fs::path> paths;
  std::error_code err;
  for (fs::directory_iterator at(directory, err), end;
       !err && at != end && paths.size() < kMaxFiles; at.increment(err)) {
    if (at->path().extension() == ".conf" && at->is_regular_file(err)) paths.push_back(at->path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<hook::IpuofFile> files;
  for (const fs::path& path : paths) files.push_back(read_ipuof(path));
  return files;
}

std::optional<hook::IpuofPlace> look_at_place(const std::string& path) {
  std::error_code err;
  const fs::path absolute = fs::absolute(path, err).lexically_normal();
  hook::IpuofPlace place{absolute.string()};
  if (fs::is_directory(absolute, err)) {
    place.is_directory = true;
    place.files = files_in(absolute);
    return place;
  }
  if (!fs::is_regular_file(absolute, err)) return std::nullopt;
  place.files = {read_ipuof(absolute)};
  return place;
}

void look_at_places(const hook::DockerArguments& docker, hook::Caller& caller) {
  const hook::Variables given =
      hook::explicit_variables(docker, caller.env_files, caller.environment);
  for (const hook::IpuofSource& source : hook::ipuof_sources(docker, given, caller.environment)) {
    if (source.kind != hook::IpuofSource::Kind::kPlace) continue;
    std::optional<hook::IpuofPlace> place = look_at_place(source.value);
    if (place) caller.places.emplace(source.value, std::move(*place));
  }
}

// A configuration that is broken or private is the runtime's to complain of.
void look_at_config(hook::Caller& caller) {
  Result<hook::Config> config = hook::load_config(hook::config_file());
  if (!config.ok()) return;
  caller.allows_variables = config.value().policy.allow_env;
  caller.pools = std::move(config).take().pools;
  for (hook::PoolConfig& pool : caller.pools) {
    if (pool.provider == hook::Provider::kIpuof) pool.file = real_path(pool.file);
  }
}

uint64_t shared_memory() {
  struct statvfs file_system {};
  if (::statvfs("/dev/shm", &file_system) != 0) return 0;
  return uint64_t{file_system.f_blocks} * file_system.f_frsize;
}

}  // namespace

hook::Caller look(const hook::FrontEndArguments& arguments, std::string engine,
                  std::string runtime) {
  const hook::DockerArguments docker = hook::read_docker_arguments(arguments.docker);
  hook::Caller caller;
  caller.engine = std::move(engine);
  caller.runtime = std::move(runtime);
  caller.environment = environment();
  caller.env_files = env_files(docker);
  Result<std::vector<vipu::Card>> cards = vipu::local::read_cards("/sys", "/dev");
  if (cards.ok()) caller.cards = std::move(cards).take();
  std::error_code err;
  caller.infiniband = fs::is_directory("/dev/infiniband", err);
  look_at_config(caller);
  look_at_places(docker, caller);
  caller.shared_memory = shared_memory();
  return caller;
}

}  // namespace front
