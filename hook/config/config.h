// SPDX-License-Identifier: Apache-2.0
// The product's configuration: one struct with defaults, read from one TOML file.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "netns/address.h"
#include "netns/types.h"

namespace hook::config {

enum class Provider {
  kVipu,   // a V-IPU controller makes the partitions
  kIpuof,  // slices of one partition that was made ahead, by its IPUoF file
  kPcie,   // cards in PCIe slots of this host
};
[[nodiscard]] std::string_view name_of(Provider provider);  // "vipu", ...

// How a V-IPU controller is spoken to. Files are read by root when a call is made; what is in them
// goes to ipu-vipu-client over a pipe and nowhere else.
struct ControllerSecurity {
  bool tls = false;
  std::string ca;  // PEM files; the certificate and its key are empty where none is asked for
  std::string certificate;
  std::string key;
  std::string server_name;            // as the certificate says it; empty: the host name
  std::string credentials;            // file of gRPC metadata; empty: none
  bool insecure_credentials = false;  // send them without TLS to another host as well
  bool operator==(const ControllerSecurity&) const = default;
};

// A source of IPUs.
struct PoolConfig {
  std::string name;
  Provider provider = Provider::kVipu;
  std::string controller = {};                 // vipu: HOST:PORT
  std::chrono::milliseconds timeout{120'000};  // for a partition to become ACTIVE; poprun's default
  std::string allocation = {};                 // vipu: of the partitions that are made; empty: any
  std::string cluster = {};
  ControllerSecurity security = {};
  std::string file = {};                           // ipuof: the IPUoF file
  std::vector<std::vector<uint32_t>> groups = {};  // pcie: linked cards; empty: all are
  std::vector<uint32_t> taints = {};               // ipuof, pcie: IPUs never given away
  std::map<uint32_t, uint32_t> warm = {};          // size -> partitions of it that are kept ready
};

// Where the partitions of POOL come from, in one line that the ledger keeps: "10.1.3.101:8090",
// "ipuof:/etc/ipuof.conf.d/p64.conf", "pcie:".
[[nodiscard]] std::string source_of(const PoolConfig& pool);

// Whether partitions of this provider are reached over the network.
[[nodiscard]] bool uses_network(Provider provider);

// A RoCE network of the host, and the addresses that it may give away on it. Containers share the
// RNIC (a macvlan each), or each gets one of its functions.
struct RailConfig {
  std::string parent;                       // the RNIC's interface; empty where there are functions
  std::vector<std::string> functions = {};  // interfaces of VFs or SFs
  netns::Prefix subnet = {};                // IPv4 or IPv6; no two rails overlap
  netns::Address first = {};                // of the range, both ends included
  netns::Address last = {};
  netns::MacvlanMode mode = netns::MacvlanMode::kPrivate;
  uint32_t mtu = 0;                       // 0: the parent's
  std::vector<netns::Peer> peers = {};    // beside the IPU-Machines of a container's partition
  std::optional<uint32_t> max_gids = {};  // entries of the port's GID table for containers; unset:
                                          // as many as are free
};

// How messages call the rail: its parent, or its functions ("rnic0v0,rnic0v1").
[[nodiscard]] std::string name_of(const RailConfig& rail);

enum class RdmaMode {
  kAuto,     // device nodes where the rail has an RDMA device, none otherwise
  kRequire,  // a rail without an RDMA device is an error
  kOff,      // never
};

// What becomes of a container with IPUs that is started with the host's network.
enum class HostNetwork {
  kRefuse,
  kIsolate,  // it gets a network namespace of its own instead
};

struct NetworkConfig {
  RdmaMode rdma = RdmaMode::kAuto;
  HostNetwork host_network = HostNetwork::kRefuse;
  // For the RoCE v2 GID of a container's address to be in the RNIC's table.
  std::chrono::milliseconds gid_wait{2000};
  // For another host to answer for an address that is to be given away; 0: not asked.
  std::chrono::milliseconds duplicate_probe{25};
  // Prefixes that no container reaches, beside the fabric and the controller: management networks.
  std::vector<netns::Prefix> forbidden = {};
  // linux.resources.rdma of a container, for each device; unset: no limit.
  std::optional<uint32_t> rdma_handles = {};
  std::optional<uint32_t> rdma_objects = {};
  std::vector<RailConfig> rails =
      {};  // roce0 is of the first, and so on; none if no pool uses them
};

struct PolicyConfig {
  uint32_t max_ipus = 64;  // largest partition that a container may ask for
  bool allow_env = true;   // may IPU_* variables ask? An image can set those
  bool allow_annotation = true;
};

inline constexpr std::chrono::milliseconds kDefaultHistory = std::chrono::hours(7 * 24);

struct LedgerConfig {
  // How long leases that ended, and events, are kept.
  std::chrono::milliseconds history = kDefaultHistory;
};

struct Config {
  std::vector<std::string> runtimes;  // absolute paths; the first that exists is used
  std::vector<PoolConfig> pools;      // at least one; the first is the default
  NetworkConfig network;
  PolicyConfig policy;
  LedgerConfig ledger;
};

// What a host tells without a configuration.
struct HostFacts {
  std::vector<std::string> environment;  // for VIPU_CLI_API_HOST and VIPU_CLI_API_PORT
  std::string vipu_cli_file = "/etc/vipu/vipu-cli.hcl";
  std::string dev = "/dev";
  std::string ipuof_dir = "/etc/ipuof.conf.d";
};

// Low-level runtimes that are looked for when nothing is configured.
[[nodiscard]] std::vector<std::string> default_runtimes();

// TEXT as a configuration; FILE names it in errors, which say line or key and what is accepted. An
// unknown key is an error. Where the file says nothing there are defaults; a "vipu" pool without a
// controller, and a configuration without a pool, take theirs from the host: the environment
// before vipu-cli.hcl before cards in /dev before the one file in ipuof.conf.d.
base::Result<Config> parse_config(std::string_view text, const std::string& file,
                                  const HostFacts& host = {});

// The file, parsed, with this process's environment. kNotFound, with the path and what to do, if
// there is none; a host with PCIe cards needs none.
base::Result<Config> load_config(const std::string& file);

// How the controller of the pool NAME is spoken to, by FILE; the defaults if it does not say. For
// giving back what a pool made: nothing else of the file need be right.
[[nodiscard]] ControllerSecurity load_security(const std::string& file, const std::string& name);

// kInvalid, with address, rail and range, if one of OF_HOST, the addresses of the host's
// interfaces, is in a range: the file alone does not show that.
base::Status check_host_addresses(const NetworkConfig& network,
                                  const std::vector<netns::Address>& of_host);

// The pool NAME, or the first one if NAME is empty. kInvalid, with the names there are, otherwise.
base::Result<PoolConfig> find_pool(const Config& config, const std::string& name);

}  // namespace hook::config
