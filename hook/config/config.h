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
#include "hook/config/agent.h"
#include "hook/config/fleet.h"
#include "hook/config/log.h"
#include "hook/config/monitor.h"
#include "hook/config/policy.h"
#include "netns/address.h"
#include "netns/types.h"
#include "vipu/block.h"
#include "vipu/health.h"

namespace hook::config {

enum class Provider {
  kVipu,   // a V-IPU controller makes the partitions
  kIpuof,  // slices of one partition made in advance, from its IPUoF file
  kPcie,   // cards in PCIe slots of this host
};
[[nodiscard]] std::string_view name_of(Provider provider);  // "vipu", ...

// The access to a V-IPU controller. Only ipu-vipu-client gets the files' contents, over a pipe.
struct ControllerSecurity {
  bool tls = false;
  std::string ca;  // PEM file; certificate and key are empty if not required
  std::string certificate;
  std::string key;
  std::string server_name;            // name in the certificate; empty: the host name
  std::string credentials;            // file of gRPC metadata; empty: none
  bool insecure_credentials = false;  // also send them without TLS to another host
  bool operator==(const ControllerSecurity&) const = default;
};

// A source of IPUs.
struct PoolConfig {
  std::string name;
  Provider provider = Provider::kVipu;
  std::string controller = {};                 // vipu: HOST:PORT
  std::chrono::milliseconds timeout{120'000};  // until a partition is ACTIVE; poprun's default
  std::string allocation = {};                 // vipu: allocation of new partitions; empty: any
  std::string cluster = {};
  ControllerSecurity security = {};
  std::string file = {};                           // ipuof: the IPUoF file
  std::vector<std::vector<uint32_t>> groups = {};  // pcie: linked cards; empty: all are linked
  std::vector<uint32_t> taints = {};               // ipuof, pcie: IPUs never given to a partition
  std::map<uint32_t, uint32_t> warm = {};          // size -> number of partitions kept ready
  bool backfill = false;            // whether smaller requests may pass one that waits
  std::string health_command = {};  // ipuof, pcie: program that says how the IPUs are
  vipu::Damping damping = {};       // of what it says
  // ipuof: the IPUs that this host may use, by their numbers in the file; unset: all.
  std::optional<vipu::Block> part = {};
};

// Returns the source of POOL's partitions, in the one line that the ledger keeps:
// "10.1.3.101:8090", "ipuof:/etc/ipuof.conf.d/p64.conf", "pcie:".
[[nodiscard]] std::string source_of(const PoolConfig& pool);
// Returns whether SOURCE is a controller, whose partitions are not this host's alone.
[[nodiscard]] bool is_controller(const std::string& source);

// Returns whether this provider's partitions are reached over the network.
[[nodiscard]] bool uses_network(Provider provider);

// A RoCE network of the host, and its addresses for containers. Containers either share the RNIC
// (one macvlan each) or get one of its functions each.
struct RailConfig {
  std::string parent;                       // the RNIC's interface; empty if there are functions
  std::vector<std::string> functions = {};  // interfaces of VFs or SFs
  netns::Prefix subnet = {};                // IPv4 or IPv6; no two rails overlap
  netns::Address first = {};  // start and end of the range, both included; see has_range
  netns::Address last = {};
  // Where the IPU-Machines are: inside the subnet and apart from all addresses of containers;
  // unset: anywhere there.
  std::optional<netns::Prefix> machines = {};
  netns::MacvlanMode mode = netns::MacvlanMode::kPrivate;
  uint32_t mtu = 0;                       // 0: the parent's
  std::vector<netns::Peer> peers = {};    // in addition to the partition's IPU-Machines
  std::optional<uint32_t> max_gids = {};  // entries of the port's GID table for containers; unset:
                                          // as many as are free
  // Frames of the parent that are neither the host's nor a container's of ours; unset: they pass,
  // and doctor reports them.
  std::optional<netns::Others> others = {};
  // Whether containers in different namespaces may have macvlans in mode bridge at the same time;
  // unset: they may, and doctor warns.
  std::optional<bool> shared_bridge = {};
  // Scheme "ipu": the address of a container whose first IPU is IPU 0 at the first address of
  // 'machines', which is set then; unset: all addresses are from the range. See scheme.h.
  std::optional<netns::Address> base = {};
  bool has_range = true;  // false, with a base alone: it has no range
};

// Returns the rail's name in messages: its parent, or its functions ("rnic0v0,rnic0v1").
[[nodiscard]] std::string name_of(const RailConfig& rail);

enum class RdmaUse {
  kAuto,     // device nodes if the rail has an RDMA device
  kRequire,  // a rail without an RDMA device is an error
  kOff,      // never
};

// The treatment of a container with IPUs that is started with the host's network.
enum class HostNetwork {
  kRefuse,
  kIsolate,  // gives it its own network namespace instead
};

struct NetworkConfig {
  netns::FilterPlace filter = netns::FilterPlace::kAuto;
  RdmaUse rdma = RdmaUse::kAuto;
  HostNetwork host_network = HostNetwork::kRefuse;
  // Longest wait for the RoCE v2 GID of a container's address in the RNIC's table.
  std::chrono::milliseconds gid_wait{2000};
  // Time for another host to answer for an address before its use; 0: no probe.
  std::chrono::milliseconds duplicate_probe{25};
  // Prefixes that no container reaches, in addition to the fabric and the controller: management
  // networks.
  std::vector<netns::Prefix> forbidden = {};
  // Whether the host forwards nothing to the fabric, the controllers and FORBIDDEN, except from or
  // to FORWARD_ALLOWED (netns/guard.h); unset: as earlier releases, which let it pass.
  std::optional<bool> guard_forwarding = {};
  std::vector<netns::Prefix> forward_allowed = {};
  // linux.resources.rdma of a container, per device; unset: no limit.
  std::optional<uint32_t> rdma_handles = {};
  std::optional<uint32_t> rdma_objects = {};
  std::vector<RailConfig> rails = {};  // the first is roce0, and so on; none if no pool uses them
};

struct Config {
  std::vector<std::string> runtimes;  // absolute paths; the first that exists is used
  std::vector<PoolConfig> pools;      // at least one; the first is the default
  NetworkConfig network;
  PolicyConfig policy;
  ContainerConfig container;
  LedgerConfig ledger;
  AgentConfig agent;
  LogConfig log;
  std::optional<FleetConfig> fleet = {};      // absent: the host shares nothing but controllers
  std::optional<MonitorConfig> monitor = {};  // absent: nobody says how busy IPUs are
  std::string host_id = {};  // [host] id; empty: the host is known by its machine-id
};

// The facts of a host that replace a missing configuration.
struct HostFacts {
  std::vector<std::string> environment;  // for VIPU_CLI_API_HOST and VIPU_CLI_API_PORT
  std::string vipu_cli_file = "/etc/vipu/vipu-cli.hcl";
  std::string dev = "/dev";
  std::string ipuof_dir = "/etc/ipuof.conf.d";
};

// Returns the low-level runtimes to look for if none is configured.
[[nodiscard]] std::vector<std::string> default_runtimes();

// Parses TEXT as a configuration; FILE names it in errors, which give the line or key and the
// accepted values. An unknown key is an error. Absent keys get defaults. A "vipu" pool without a
// controller, and a configuration without a pool, take theirs from the host: first the environment,
// then vipu-cli.hcl, then cards in /dev, then the one file in ipuof.conf.d.
base::Result<Config> parse_config(std::string_view text, const std::string& file,
                                  const HostFacts& host = {});

// Loads and parses the file, with this process's environment. Returns kNotFound if it is absent (a
// host with PCIe cards needs none), and kDenied if others than root can change it or its directory.
base::Result<Config> load_config(const std::string& file);

// Return FILE's access to the controller of the pool NAME, or the defaults, for releases; and its
// low-level runtimes, or the default ones. The rest of the file may be invalid. A file that others
// can change counts as absent.
[[nodiscard]] ControllerSecurity load_security(const std::string& file, const std::string& name);
[[nodiscard]] std::vector<std::string> load_runtimes(const std::string& file);
// Returns [fleet] of FILE, whose other sections may be invalid; nothing if there is none.
base::Result<std::optional<FleetConfig>> load_fleet(const std::string& file);
// Returns [host] id of FILE; empty if it has none, or cannot be read or parsed.
[[nodiscard]] std::string load_host_id(const std::string& file);

// Returns kInvalid, with address, rail and range, if a range contains one of OF_HOST, the addresses
// of the host's interfaces, which the file alone does not show.
base::Status check_host_addresses(const NetworkConfig& network,
                                  const std::vector<netns::Address>& of_host);

// Returns why no IPU-Machine can have ADDRESS on RAIL: it is a network or broadcast address, one
// that containers get, or outside of 'machines'. Empty if one can.
[[nodiscard]] std::string why_no_machine(const RailConfig& rail, const netns::Address& address);

// Return the address of POOL's controller if it is configured by address; whether it is by name.
[[nodiscard]] std::optional<netns::Address> numeric_controller(const PoolConfig& pool);
[[nodiscard]] bool has_named_controller(const PoolConfig& pool);

// Returns the pool NAME, or the first if NAME is empty; kInvalid, with the known names, if absent.
base::Result<PoolConfig> find_pool(const Config& config, const std::string& name);

}  // namespace hook::config
