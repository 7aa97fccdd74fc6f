// SPDX-License-Identifier: Apache-2.0
// The product's configuration: one struct with defaults, read from one TOML file.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "netns/address.h"

namespace hook {

// A source of IPUs. The provider is "vipu": a V-IPU controller.
struct PoolConfig {
  std::string name;
  std::string provider;
  std::string controller;                      // HOST:PORT
  std::chrono::milliseconds timeout{120'000};  // for a partition to become ACTIVE; poprun's default
};

// A RoCE network: the RNIC that containers share, and the addresses that this host may give away.
struct RailConfig {
  std::string parent;  // interface in the host's namespace
  netns::Ipv4Prefix subnet;
  netns::Ipv4 first;  // of the range, both ends included
  netns::Ipv4 last;
};

enum class RdmaMode {
  kAuto,     // device nodes where the rail has an RDMA device, none otherwise
  kRequire,  // a rail without an RDMA device is an error
  kOff,      // never
};

struct NetworkConfig {
  RdmaMode rdma = RdmaMode::kAuto;
  std::vector<RailConfig> rails;  // exactly one
};

struct PolicyConfig {
  uint32_t max_ipus = 64;  // largest partition that a container may ask for
  bool allow_env = true;   // may IPU_* variables ask? An image can set those
  bool allow_annotation = true;
};

struct Config {
  std::vector<std::string> runtimes;  // absolute paths; the first that exists is used
  PoolConfig pool;
  NetworkConfig network;
  PolicyConfig policy;
};

// Low-level runtimes that are looked for when nothing is configured.
[[nodiscard]] std::vector<std::string> default_runtimes();

// TEXT as a configuration; FILE names it in errors, which say line or key and what is accepted. An
// unknown key is an error. runtimes has its default where the file says nothing; pool and
// network.rail must be there.
base::Result<Config> parse_config(std::string_view text, const std::string& file);

// The file, parsed. kNotFound, with the path and what to do, if there is none.
base::Result<Config> load_config(const std::string& file);

}  // namespace hook
