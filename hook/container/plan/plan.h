// SPDX-License-Identifier: Apache-2.0
// Planning: everything that a container gets for a granted lease. Pure: the same input gives the
// same plan.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hook/container/device/rdma.h"
#include "hook/container/oci/spec.h"
#include "hook/container/plan/orders.h"
#include "hook/ledger/lease.h"
#include "netns/types.h"
#include "vipu/answers.h"
#include "vipu/types.h"

namespace hook::plan {

// The generated files that a container sees, below the lease's directory, and where the container
// has their directories.
inline constexpr const char* kIpuofFile = "ipuof.conf.d/ipuof.conf";
inline constexpr const char* kLeaseFile = "ipu/lease.json";

// What the V-IPU endpoint answers, on the host, and where it listens in the container.
inline constexpr const char* kAnswersFile = "endpoint.json";
inline constexpr const char* kEndpointAddress = "127.0.0.1";
inline constexpr uint16_t kEndpointPort = 8090;  // poprun's default

// Returns the path of the IPUoF file of the lease's GCD number INDEX, counted from its first:
// kIpuofFile if it has one GCD; with several, a name as `vipu create partition` gives it.
[[nodiscard]] std::string ipuof_file(const ledger::Lease& lease, size_t index);

struct PlanInput {
  ledger::Lease lease;
  std::vector<vipu::IpuofConfig> gcds;                  // of the container's GCDs; or
  std::vector<vipu::Card> cards;                        // the container's cards
  std::vector<std::optional<device::RdmaDevice>> rdma;  // one for each rail of the lease
  std::string lease_dir;                                // on the host, for the generated files
  std::string hook_program;
  std::string poststop_program;
  uint64_t memlock = 0;                       // the highest possible RLIMIT_MEMLOCK, in bytes
  oci::RdmaLimit rdma_limit = {};             // for each device; nothing set: no limit
  bool own_network = false;                   // its own namespace instead of the host's
  bool rdma_off = false;                      // the configuration gives no container an RDMA device
  AttachOrders orders = {};                   // without ports, which the plan adds
  std::optional<vipu::Answers> answers = {};  // of the V-IPU endpoint; unset: it has none
  std::string shm_size = {};                  // see oci::SpecEdit
  bool is_debugged = false;                   // see oci::HookEntry
};

struct Plan {
  oci::SpecEdit edit;
  std::map<std::string, std::string> files;  // path in the lease's directory -> content
};

[[nodiscard]] Plan make_plan(const PlanInput& input);

// Returns the capabilities that nobody may have in a network namespace with interfaces of a lease:
// with them, a tenant could change its own address, remove its filter, leave its macvlan's private
// mode, or send raw packets, also by RDMA.
[[nodiscard]] std::vector<std::string> forbidden_capabilities();

// Returns those of the configurations of a partition's GCDs that are LEASE's. Returns kInternal if
// the partition has not so many.
base::Result<std::vector<vipu::IpuofConfig>> gcds_of(const ledger::Lease& lease,
                                                     const std::vector<vipu::IpuofConfig>& gcds);

// Returns the IPUs of the configurations of GCDS for the ledger. Returns kInvalid if the
// controller's answer has an invalid IPv4 address or port, or if the GCDs do not have COUNT devices
// together, each equally many.
base::Result<std::vector<ledger::LeasedIpu>> leased_ipus(const std::vector<vipu::IpuofConfig>& gcds,
                                                         uint32_t count);

// Returns cards of this host for the ledger. They have no address.
[[nodiscard]] std::vector<ledger::LeasedIpu> leased_cards(const std::vector<vipu::Card>& cards);

// Returns the network of the namespace that LEASES (at least one) share: their common interfaces,
// with the IPUs of all, but without broadcasts. GUARDED: the host's own addresses, to which
// this function adds all link-local ones of IPv6.
[[nodiscard]] netns::NetworkPlan network_plan(const std::vector<ledger::Lease>& leases,
                                              const std::vector<netns::Address>& guarded);

// Returns a plan with the interface of RAIL alone, which is enough to give it back.
[[nodiscard]] netns::RailPlan rail_plan(const ledger::RailLease& rail);

// Returns lease.json with the current GIDs of the RNICs' tables: interface -> GID. TEXT is
// lease.json as make_plan wrote it.
base::Result<std::string> with_gids(const std::string& text,
                                    const std::map<std::string, device::Gid>& gids);

}  // namespace hook::plan
