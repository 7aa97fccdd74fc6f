// SPDX-License-Identifier: Apache-2.0
#include "cmd/gc-docker/front_end/translate.h"

#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "cmd/gc-docker/front_end/ask.h"
#include "cmd/gc-docker/front_end/host_network.h"
#include "cmd/gc-docker/front_end/tenant.h"
#include "hook/container/request/request.h"

namespace front {
namespace {

using namespace base::names;

void append(const std::vector<std::string>& more, std::vector<std::string>& words) {
  words.insert(words.end(), more.begin(), more.end());
}

bool is_host_network(const DockerOption& option) {
  return option.name == "network" && option.value == "host";
}

bool is_ipu_device(const DockerOption& option) {
  return option.name == "device" &&
         (option.value.starts_with("/dev/infiniband") || option.value.starts_with("/dev/ipu"));
}

bool is_runtime(const DockerOption& option) { return option.name == "runtime"; }

bool is_privileged(const DockerOption& option) {
  return option.name == "privileged" && option.value != "false";
}

const DockerOption* find_option(const DockerArguments& docker, bool (*is_it)(const DockerOption&)) {
  const auto found = std::find_if(docker.options.begin(), docker.options.end(), is_it);
  return found == docker.options.end() ? nullptr : &*found;
}

// Returns whether PCIe cards are asked for. No network leads to them, so that such a container may
// keep the host's.
bool is_of_cards(const std::vector<std::pair<std::string, std::string>>& asked) {
  return std::any_of(asked.begin(), asked.end(),
                     [](const auto& variable) { return variable.first == "IPU_VISIBLE_DEVICES"; });
}

// Returns the options from recipes for Graphcore's tool that an isolated container must not get:
// the host's network, and mounts in the place of its own IPUoF file.
std::vector<DockerOption> dropped_options(const DockerArguments& docker, bool cards,
                                          std::vector<std::string>& notes) {
  std::vector<DockerOption> dropped;
  for (const DockerOption& option : docker.options) {
    if (is_host_network(option) && !cards) dropped.push_back(option);
  }
  if (!dropped.empty()) {
    notes.emplace_back(
        "--net=host is ignored, because the container gets its own network for the IPUs; give"
        " --host-network to use the host's network");
  }
  for (const DockerMount& mount : ipuof_mounts(docker)) {
    dropped.push_back(mount.option);
    notes.push_back(str("the mount on ", base::quote(mount.target),
                        " is ignored, because the container gets its own IPUoF file there"));
  }
  return dropped;
}

// Warns of options that are passed on although they weaken the isolation of the lease.
void note_weakening(const DockerArguments& docker, std::vector<std::string>& notes) {
  if (const DockerOption* device = find_option(docker, is_ipu_device)) {
    notes.push_back(str("--device=", device->value,
                        " gives the container more than its own IPUs; remove it: the container"
                        " gets the devices that it needs"));
  }
  if (find_option(docker, is_privileged) != nullptr) {
    notes.emplace_back(
        "--privileged gives the container all devices of the host; remove it: IPUs do not need it");
  }
}

// Warns if another runtime is named, which knows nothing of the request. The product may have been
// registered by this name.
void note_runtime(const Caller& caller, const DockerArguments& docker,
                  std::vector<std::string>& notes) {
  const DockerOption* named = find_option(docker, is_runtime);
  if (named == nullptr || named->value == caller.runtime) return;
  notes.push_back(str("--runtime=", named->value, " replaces the runtime ", quote(caller.runtime),
                      ", so the container gets no IPUs, unless ", quote(named->value),
                      " runs ipu-container-runtime too; leave out --runtime"));
}

// With the network of the host, as Graphcore's tool gives it, a service needs no published port.
void note_ports(const DockerArguments& docker, std::vector<std::string>& notes) {
  const bool is_detached = has_flag(docker, "detach", 'd');
  const bool is_reachable = has_option(docker, "publish") || has_flag(docker, "publish-all", 'P') ||
                            has_option(docker, "network");
  if (!is_detached || is_reachable) return;
  notes.emplace_back(
      "the container has a network of its own; to reach a service in it, publish its port, such as"
      " -p 8000:8000");
}

void append_variable(const std::string& name, const std::string& value,
                     std::vector<std::string>& words) {
  append({"-e", str(name, "=", value)}, words);
}

// Adds a request as a variable or, if the policy allows no variables, as the annotation with the
// same meaning.
void append_request(const Caller& caller, const std::string& name, const std::string& value,
                    std::vector<std::string>& words) {
  if (caller.allows_variables) return append_variable(name, value, words);
  append({"--annotation", str(hook::request::annotation_of(name), "=", value)}, words);
}

// Passes the caller's log level for Poplar, which does not depend on how the container reaches its
// IPUs.
void append_log_level(const Caller& caller, const Variables& explicit_ones,
                      std::vector<std::string>& words) {
  const std::string name = "IPUOF_LOG_LEVEL";
  const auto set = caller.environment.find(name);
  if (set == caller.environment.end() || !set->second || explicit_ones.contains(name)) return;
  append_variable(name, *set->second, words);
}

Result<Translation> isolated(const Caller& caller, const FrontEndArguments& arguments,
                             const DockerArguments& docker, const Variables& explicit_ones) {
  Asked asked = TRY(ask(caller, arguments, docker, explicit_ones));
  ask_tenant(caller, docker, explicit_ones, asked);
  Translation to{{caller.engine}, std::move(asked.notes)};
  const bool names_runtime = has_option(docker, "runtime");
  const std::string runtime = str("--runtime=", caller.runtime);
  // For podman, --runtime is a global option and stands before the command.
  if (caller.engine == "podman" && !names_runtime) to.command.push_back(runtime);
  to.command.emplace_back("run");
  if (caller.engine != "podman" && !names_runtime) to.command.push_back(runtime);
  for (const auto& [name, value] : asked.variables) {
    append_request(caller, name, value, to.command);
  }
  append_log_level(caller, explicit_ones, to.command);
  // Data loaders use shared memory. With --ipc=host, as Graphcore's tool gave it, they had the
  // host's.
  const bool has_memory = has_option(docker, "shm-size") || has_option(docker, "ipc");
  if (!has_memory && caller.shared_memory > 0) {
    to.command.push_back(str("--shm-size=", caller.shared_memory));
  }
  // Another runtime would not replace what is dropped here.
  std::vector<DockerOption> dropped;
  if (!names_runtime) dropped = dropped_options(docker, is_of_cards(asked.variables), to.notes);
  note_runtime(caller, docker, to.notes);
  note_weakening(docker, to.notes);
  if (!is_of_cards(asked.variables)) note_ports(docker, to.notes);
  append(without(docker, dropped), to.command);
  return to;
}

Result<Translation> as_before(const Caller& caller, const FrontEndArguments& arguments,
                              const DockerArguments& docker, const Variables& explicit_ones) {
  const std::vector<std::string> options =
      TRY(host_network_options(caller, arguments, docker, explicit_ones));
  Translation to{{caller.engine, "run"}, {}};
  append(options, to.command);
  append_log_level(caller, explicit_ones, to.command);
  append(docker.words, to.command);
  return to;
}

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./=:,@%+-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char character : word) {
    quoted += character == '\'' ? std::string("'\\''") : std::string(1, character);
  }
  return quoted + "'";
}

}  // namespace

Result<Translation> translate(const Caller& caller, const FrontEndArguments& arguments) {
  const DockerArguments docker = read_docker_arguments(arguments.docker);
  const Variables explicit_ones = explicit_variables(docker, caller.env_files, caller.environment);
  return arguments.host_network ? as_before(caller, arguments, docker, explicit_ones)
                                : isolated(caller, arguments, docker, explicit_ones);
}

std::string shell_line(const std::vector<std::string>& command) {
  std::vector<std::string> words;
  for (const std::string& word : command) words.push_back(shell_word(word));
  return base::join(words, " ");
}

}  // namespace front
