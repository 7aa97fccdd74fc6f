// SPDX-License-Identifier: Apache-2.0
#include "hook/container/plan/plan.h"

#include <sys/resource.h>

#include <algorithm>
#include <set>
#include <span>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"

namespace hook::plan {
namespace {

using namespace base::names;
using base::Json;

constexpr int kHookTimeoutSeconds =
    15;  // above the hook's own 10 s deadline, so that the hook reports the reason

Json rdma_json(const std::optional<device::RdmaDevice>& device) {
  if (!device) return nullptr;
  Json json = {{"device", device->name},
               {"port", device->port},
               {"gid_index", nullptr},  // known once the interface is up: see with_gids()
               {"gid_type", nullptr},
               {"nodes", Json::array()}};
  for (const oci::DeviceNode& node : device->nodes) json["nodes"].push_back(node.path);
  return json;
}

// RDMA needs as much locked memory as possible. The user should notice less than "unlimited".
Json memlock_json(uint64_t bytes) {
  if (bytes == RLIM_INFINITY) return "unlimited";
  return bytes;
}

Json card_json(const vipu::Card& card) {
  Json json = {{"number", card.number},
               {"pci", card.pci},
               {"numa_node", card.numa_node},
               {"nodes", Json::array()}};
  for (const vipu::CardNode& node : card.nodes) json["nodes"].push_back(node.path);
  return json;
}

// Returns, for each GCD, where the container finds its IPUoF file.
Json gcds_json(const PlanInput& input) {
  Json json = Json::array();
  for (uint32_t i = 0; i < input.lease.gcds; ++i) {
    json.push_back({{"gcd", input.lease.gcd + i},
                    {"ipus", input.lease.ipus / input.lease.gcds},
                    {"ipuof_config", str("/etc/", ipuof_file(input.lease, i))}});
  }
  return json;
}

// Returns what the container may know of its lease. It contains no secret.
std::string lease_json(const PlanInput& input) {
  Json json = {{"version", 1},
               {"lease", input.lease.id},
               {"pool", input.lease.pool},
               {"partition", input.lease.partition},
               {"gcd", input.lease.gcd},
               {"ipus", input.lease.ipus},
               {"memlock", memlock_json(input.memlock)},
               {"rails", Json::array()}};
  for (size_t i = 0; i < input.lease.rails.size(); ++i) {
    const ledger::RailLease& rail = input.lease.rails[i];
    Json entry = {{"interface", rail.interface},
                  {"address", netns::to_string(rail.address)},
                  {"mac", netns::to_string(rail.mac)},
                  {"rdma", rdma_json(input.rdma[i])}};
    if (!input.rdma[i]) {
      entry["rdma_absent"] =
          input.rdma_off ? "network.rdma is \"off\" on this host"
                         : str("interface '", rail.parent, "' of the host has no RDMA device");
    }
    json["rails"].push_back(std::move(entry));
  }
  for (const vipu::Card& card : input.cards) json["cards"].push_back(card_json(card));
  if (input.cards.empty()) json["gcds"] = gcds_json(input);
  if (input.answers) json["vipu_endpoint"] = str(kEndpointAddress, ":", kEndpointPort);
  return base::to_pretty_text(json);
}

oci::HookEntry hook_entry(const PlanInput& input, const std::string& program, const char* stage) {
  return {program,
          {"ipu-container-hook", stage, "--lease", input.lease.id},
          kHookTimeoutSeconds,
          input.is_debugged};
}

// Returns the hook's orders, which stay on the host.
std::string orders_text(const PlanInput& input) {
  AttachOrders orders = input.orders;
  for (size_t i = 0; i < input.rdma.size(); ++i) {
    if (!input.rdma[i]) continue;
    const device::RdmaDevice& device = *input.rdma[i];
    orders.ports.push_back({input.lease.rails[i].interface, device.name, device.port});
  }
  return to_text(orders);
}

// Adds devices once: rails may share a device, and all share rdma_cm.
void add_rdma(const PlanInput& input, oci::SpecEdit& edit) {
  for (const std::optional<device::RdmaDevice>& device : input.rdma) {
    if (!device) continue;
    for (const oci::DeviceNode& node : device->nodes) {
      const bool is_there =
          std::find(edit.devices.begin(), edit.devices.end(), node) != edit.devices.end();
      if (!is_there) edit.devices.push_back(node);
    }
    const bool is_limited = input.rdma_limit.handles || input.rdma_limit.objects;
    if (is_limited) edit.rdma_limits[device->name] = input.rdma_limit;
  }
}

void add_fabric(const PlanInput& input, Plan& plan) {
  for (size_t i = 0; i < input.gcds.size(); ++i) {
    plan.files[ipuof_file(input.lease, i)] = vipu::to_ipuof_file(input.gcds[i]);
  }
  plan.files[kOrdersFile] = orders_text(input);
  if (input.answers) plan.files[kAnswersFile] = vipu::to_text(*input.answers);
  add_rdma(input, plan.edit);
  plan.edit.own_network = input.own_network;
  // A host directory there, as gc-docker recipes mount it, has the configurations of other IPUs. In
  // a home, PopTorch looks for the files; only who mounts something there says where it is.
  plan.edit.mounts.insert(plan.edit.mounts.begin(), {str(input.lease_dir, "/ipuof.conf.d"),
                                                     "/etc/ipuof.conf.d", ".ipuof.conf.d"});
  // With several GCDs it would give every rank of poprun the same one.
  if (input.lease.gcds > 1) {
    plan.edit.forget_environment.emplace_back("IPUOF_CONFIG_PATH");
  } else {
    plan.edit.environment = {{"IPUOF_CONFIG_PATH", str("/etc/", kIpuofFile)}};
  }
  plan.edit.forget_capabilities = forbidden_capabilities();
}

void add_cards(const PlanInput& input, Plan& plan) {
  // An image's configuration of IPUs over the fabric would hide the cards from Poplar.
  plan.edit.forget_environment.emplace_back("IPUOF_CONFIG_PATH");
  for (const vipu::Card& card : input.cards) {
    for (const vipu::CardNode& node : card.nodes) {
      plan.edit.devices.push_back({node.path, node.major, node.minor});
    }
  }
}

void add_peers(const ledger::Lease& lease, const netns::Prefix& subnet,
               std::vector<netns::Peer>& peers) {
  for (const ledger::LeasedIpu& ipu : lease.devices) {
    if (!subnet.contains(ipu.address)) continue;
    for (const uint16_t port : {ipu.server_port, ipu.rdma_port}) {
      const netns::Peer peer{ipu.address, port};
      if (std::find(peers.begin(), peers.end(), peer) == peers.end()) peers.push_back(peer);
    }
  }
}

Result<ledger::LeasedIpu> leased_ipu(const vipu::IpuofDevice& device) {
  ledger::LeasedIpu ipu;
  ipu.address = TRY_CTX("IPUoF configuration", netns::parse_address(device.ip));
  if (device.server_port > 65535 || device.rdma_port > 65535) {
    return Error(Code::kInvalid, str("IPUoF configuration: IPU ", device.device_id, " of ",
                                     device.ip, " has an invalid port"));
  }
  ipu.device = device.device_id;
  ipu.server_port = static_cast<uint16_t>(device.server_port);
  ipu.rdma_port = static_cast<uint16_t>(device.rdma_port);
  return ipu;
}

}  // namespace

std::string ipuof_file(const ledger::Lease& lease, size_t index) {
  if (lease.gcds == 1) return kIpuofFile;
  return str("ipuof.conf.d/", lease.partition, "_gcd", lease.gcd + index, "_ipuof.conf");
}

std::vector<std::string> forbidden_capabilities() { return {"CAP_NET_ADMIN", "CAP_NET_RAW"}; }

Plan make_plan(const PlanInput& input) {
  Plan plan;
  plan.files[kLeaseFile] = lease_json(input);
  plan.edit.mounts = {{str(input.lease_dir, "/ipu"), "/run/ipu"}};
  plan.edit.forget_environment = {"IPUOF_VIPU_API_*"};
  plan.edit.memlock = input.memlock;
  plan.edit.shm_size = input.shm_size;
  plan.edit.create_runtime = {hook_entry(input, input.hook_program, "createRuntime")};
  plan.edit.poststop = {hook_entry(input, input.poststop_program, "poststop")};
  plan.edit.annotations = {{"graphcore.ai/ipu.lease", input.lease.id}};
  plan.edit.leases = input.lease_dir.substr(0, input.lease_dir.rfind('/') + 1);
  if (input.cards.empty()) {
    add_fabric(input, plan);
  } else {
    add_cards(input, plan);
  }
  return plan;
}

std::vector<ledger::LeasedIpu> leased_cards(const std::vector<vipu::Card>& cards) {
  std::vector<ledger::LeasedIpu> ipus;
  for (const vipu::Card& card : cards) ipus.push_back({{}, card.number, 0, 0});
  return ipus;
}

Result<std::vector<vipu::IpuofConfig>> gcds_of(const ledger::Lease& lease,
                                               const std::vector<vipu::IpuofConfig>& gcds) {
  const auto all = std::span(gcds);
  if (lease.gcd + lease.gcds <= all.size()) {
    const auto own = all.subspan(lease.gcd, lease.gcds);
    return std::vector<vipu::IpuofConfig>(own.begin(), own.end());
  }
  return Error(Code::kInternal, str("partition ", base::quote(lease.partition), " has ",
                                    gcds.size(), " GCDs, but the lease has ", gcds_text(lease)));
}

Result<std::vector<ledger::LeasedIpu>> leased_ipus(const std::vector<vipu::IpuofConfig>& gcds,
                                                   uint32_t count) {
  std::vector<ledger::LeasedIpu> ipus;
  for (const vipu::IpuofConfig& gcd : gcds) {
    if (gcd.devices.size() != gcds.front().devices.size()) {
      return Error(Code::kInvalid, "the controller granted GCDs with different numbers of IPUs");
    }
    for (const vipu::IpuofDevice& device : gcd.devices) ipus.push_back(TRY(leased_ipu(device)));
  }
  if (ipus.size() == count) return ipus;
  return Error(Code::kInvalid,
               str("the controller granted ", ipus.size(), " IPUs instead of ", count));
}

netns::RailPlan rail_plan(const ledger::RailLease& rail) {
  netns::RailPlan plan;
  plan.kind = rail.kind;
  plan.parent = rail.parent;
  plan.rdma_device = rail.rdma_device;
  plan.mode = rail.mode;
  plan.mtu = rail.mtu;
  plan.interface = rail.interface;
  plan.mac = rail.mac;
  plan.address = rail.address;
  plan.peers = rail.peers;
  return plan;
}

netns::NetworkPlan network_plan(const std::vector<ledger::Lease>& leases,
                                const std::vector<netns::Address>& guarded) {
  netns::NetworkPlan plan;
  for (const ledger::RailLease& rail : leases.front().rails) {
    netns::RailPlan entry = rail_plan(rail);
    for (const ledger::Lease& lease : leases) add_peers(lease, rail.subnet, entry.peers);
    plan.rails.push_back(std::move(entry));
  }
  std::set<netns::Prefix> prohibited;
  for (const ledger::Lease& lease : leases) {
    prohibited.insert(lease.prohibited.begin(), lease.prohibited.end());
  }
  plan.prohibited.assign(prohibited.begin(), prohibited.end());
  for (const netns::Address& address : guarded) {
    plan.guarded.push_back(netns::host_prefix(address));
  }
  // The host gets one with each interface, also later.
  plan.guarded.push_back(netns::link_local_ipv6());
  return plan;
}

Result<std::string> with_gids(const std::string& text,
                              const std::map<std::string, device::Gid>& gids) {
  Json json = TRY(base::parse_json(text, "lease.json"));
  for (Json& rail : json["rails"]) {
    const auto found = gids.find(rail["interface"].get<std::string>());
    if (found == gids.end()) continue;
    rail["rdma"]["gid_index"] = found->second.index;
    rail["rdma"]["gid_type"] = found->second.type;
  }
  return base::to_pretty_text(json);
}

}  // namespace hook::plan
