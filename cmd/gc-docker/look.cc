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
#include "base/users.h"
#include "cmd/gc-docker/front_end/tenant.h"
#include "hook/config/paths.h"
#include "vipu/local/cards.h"
#include "vipu/local/ipuof_file.h"

namespace front {
namespace {

using base::Result;
namespace fs = std::filesystem;

constexpr size_t kMaxEnvFile = size_t{1} << 20;
constexpr size_t kMaxFiles = 1000;  // in one directory

front::Variables environment() {
  front::Variables variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals == std::string::npos) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

std::vector<std::string> env_files(const front::DockerArguments& docker) {
  std::vector<std::string> texts;
  for (const front::DockerOption& option : docker.options) {
    // A pipe can be read only once, and docker must read it.
    std::error_code err;
    if (option.name != "env-file" || !fs::is_regular_file(option.value, err)) continue;
    Result<std::string> text = base::read_file(option.value, kMaxEnvFile);
    if (text.ok()) texts.push_back(std::move(text).take());
  }
  return texts;
}

// Returns PATH with all links resolved; unchanged if it does not exist.
std::string real_path(const std::string& path) {
  std::error_code err;
  const fs::path real = fs::canonical(path, err);
  return err ? path : real.string();
}

front::IpuofFile read_ipuof(const fs::path& path) {
  front::IpuofFile file{real_path(path.string())};
  const Result<std::string> text = base::read_file(file.path, vipu::local::kMaxIpuofFile);
  if (!text.ok()) return file;
  const Result<vipu::IpuofConfig> config = vipu::local::parse_ipuof_file(text.value(), file.path);
  if (config.ok()) file.ipus = static_cast<uint32_t>(config.value().devices.size());
  return file;
}

std::vector<front::IpuofFile> files_in(const fs::path& directory) {
  std::vector<fs::path> paths;
  std::error_code err;
  for (fs::directory_iterator at(directory, err), end;
       !err && at != end && paths.size() < kMaxFiles; at.increment(err)) {
    if (at->path().extension() == ".conf" && at->is_regular_file(err)) paths.push_back(at->path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<front::IpuofFile> files;
  for (const fs::path& path : paths) files.push_back(read_ipuof(path));
  return files;
}

std::optional<front::IpuofPlace> look_at_place(const std::string& path) {
  std::error_code err;
  const fs::path absolute = fs::absolute(path, err).lexically_normal();
  front::IpuofPlace place{absolute.string()};
  if (fs::is_directory(absolute, err)) {
    place.is_directory = true;
    place.files = files_in(absolute);
    return place;
  }
  if (!fs::is_regular_file(absolute, err)) return std::nullopt;
  place.files = {read_ipuof(absolute)};
  return place;
}

void look_at_places(const front::DockerArguments& docker, front::Caller& caller) {
  const front::Variables given =
      front::explicit_variables(docker, caller.env_files, caller.environment);
  for (const front::IpuofSource& source :
       front::ipuof_sources(docker, given, caller.environment, caller.engine)) {
    if (source.kind != front::IpuofSource::Kind::kPlace) continue;
    std::optional<front::IpuofPlace> place = look_at_place(source.value);
    if (place) caller.places.emplace(source.value, std::move(*place));
  }
}

// Ignores a configuration that is broken or unreadable: the runtime will report it.
void look_at_config(front::Caller& caller) {
  Result<hook::config::Config> config = hook::config::load_config(hook::config::config_file());
  if (!config.ok()) return;
  const hook::config::PolicyConfig& policy = config.value().policy;
  caller.allows_variables = policy.allow_env;
  caller.allows_annotations = policy.allow_annotation;
  caller.allows_tenant_variable = policy.tenant_variable;
  caller.default_tenant = policy.default_tenant;
  caller.tenant = hook::config::tenant_of_user(
      policy, calling_user(::getuid(), caller.environment, base::user_who_logged_in()));
  caller.pools = std::move(config).take().pools;
  for (hook::config::PoolConfig& pool : caller.pools) {
    if (pool.provider == hook::config::Provider::kIpuof) pool.file = real_path(pool.file);
  }
}

uint64_t shared_memory() {
  struct statvfs file_system {};
  if (::statvfs("/dev/shm", &file_system) != 0) return 0;
  return uint64_t{file_system.f_blocks} * file_system.f_frsize;
}

}  // namespace

front::Caller look(const front::FrontEndArguments& arguments, std::string engine,
                   std::string runtime) {
  const front::DockerArguments docker = front::read_docker_arguments(arguments.docker);
  front::Caller caller;
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
