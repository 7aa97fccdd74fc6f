// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/repair/engine_containers.h"

#include <filesystem>
#include <optional>

#include "base/fs.h"
#include "base/json.h"
#include "base/text.h"
#include "hook/ledger/lease.h"

namespace hook::lifecycle::repair {
namespace {

using base::Json;
using base::Result;

constexpr size_t kMaxFile = 16 << 20;
constexpr std::string_view kLeaseKey = "graphcore.ai/ipu.lease";

// Returns the directories DEPTH levels below START.
std::vector<std::string> directories(const std::string& start, int depth) {
  std::vector<std::string> found = {start};
  for (; depth > 0; --depth) {
    std::vector<std::string> next;
    for (const std::string& parent : found) {
      std::error_code err;
      for (auto it = std::filesystem::directory_iterator(parent, err);
           !err && it != std::filesystem::directory_iterator(); it.increment(err)) {
        next.push_back(it->path().string());
      }
    }
    found = std::move(next);
  }
  return found;
}

std::optional<Json> read_json(const std::string& path) {
  const Result<std::string> text = base::read_file(path, kMaxFile);
  if (!text.ok()) return std::nullopt;
  Result<Json> json = base::parse_json(text.value(), path);
  if (!json.ok() || !json.value().is_object()) return std::nullopt;
  return std::move(json).take();
}

// Returns the lease that the annotations of a config.json in DIRECTORY name.
std::optional<std::string> read_lease(const std::string& directory) {
  const std::optional<Json> config = read_json(directory + "/config.json");
  if (!config || !config->contains("annotations")) return std::nullopt;
  Result<std::string> lease =
      base::get_string(config->at("annotations"), kLeaseKey.data(), directory);
  if (!lease.ok()) return std::nullopt;
  return std::move(lease).take();
}

std::string last_name(const std::string& directory) {
  return directory.substr(directory.rfind('/') + 1);
}

uint64_t start_time(const Json& json, const char* key) {
  const Result<int64_t> time = base::get_int(json, key, "state");
  return time.ok() ? static_cast<uint64_t>(time.value()) : 0;
}

// Reads a bundle of containerd: config.json, and the pid in a file of its own.
std::optional<EngineContainer> read_bundle(const std::string& directory) {
  const std::optional<std::string> lease = read_lease(directory);
  const Result<std::string> text = base::read_file(directory + "/init.pid", 64);
  if (!lease || !text.ok()) return std::nullopt;
  const Result<pid_t> pid = base::parse_int<pid_t>(base::trim(text.value()), 1, INT32_MAX);
  if (!pid.ok()) return std::nullopt;
  return EngineContainer{last_name(directory), *lease, pid.value(), 0};
}

// Reads a state of crun: status, and a copy of config.json.
std::optional<EngineContainer> read_status(const std::string& directory) {
  const std::optional<std::string> lease = read_lease(directory);
  const std::optional<Json> status = read_json(directory + "/status");
  if (!lease || !status) return std::nullopt;
  const Result<int64_t> pid = base::get_int(*status, "pid", directory);
  if (!pid.ok()) return std::nullopt;
  return EngineContainer{last_name(directory), *lease, static_cast<pid_t>(pid.value()),
                         start_time(*status, "process-start-time")};
}

// Reads a state of runc: the annotations are among the labels, as "KEY=VALUE".
std::optional<EngineContainer> read_state(const std::string& directory) {
  const std::optional<Json> state = read_json(directory + "/state.json");
  if (!state || !state->contains("config") || !state->at("config").is_object()) return std::nullopt;
  const Result<int64_t> pid = base::get_int(*state, "init_process_pid", directory);
  const auto labels = state->at("config").find("labels");
  if (!pid.ok() || labels == state->at("config").end() || !labels->is_array()) return std::nullopt;
  const std::string prefix = base::str(kLeaseKey, "=");
  for (const Json& label : *labels) {
    const std::string text = label.is_string() ? label.get<std::string>() : "";
    if (!text.starts_with(prefix)) continue;
    return EngineContainer{last_name(directory), text.substr(prefix.size()),
                           static_cast<pid_t>(pid.value()),
                           start_time(*state, "init_process_start")};
  }
  return std::nullopt;
}

}  // namespace

std::vector<EngineContainer> find_engine_containers(const std::string& run) {
  const struct {
    const char* below;
    int depth;
    std::optional<EngineContainer> (*read)(const std::string& directory);
  } places[] = {
      {"/containerd/io.containerd.runtime.v2.task", 2, read_bundle},
      {"/runc", 1, read_state},
      {"/docker/runtime-runc", 2, read_state},
      {"/containerd/runc", 2, read_state},
      {"/crun", 1, read_status},
  };
  std::vector<EngineContainer> containers;
  for (const auto& place : places) {
    for (const std::string& directory : directories(run + place.below, place.depth)) {
      std::optional<EngineContainer> container = place.read(directory);
      if (container && ledger::is_lease_id(container->lease)) containers.push_back(*container);
    }
  }
  return containers;
}

}  // namespace hook::lifecycle::repair
