// SPDX-License-Identifier: Apache-2.0
#include "hook/plan/plan.h"

#include <sys/resource.h>

#include "base/json.h"
#include "base/text.h"

namespace hook {
namespace {

using base::Code;
using base::Error;
using base::Json;
using base::Result;
using base::str;

constexpr const char* kIpuofFile = "/etc/ipuof.conf.d/ipuof.conf";
constexpr const char* kLeaseFile = "/run/ipu/lease.json";
constexpr int kHookTimeoutSeconds =
    15;  // the hook's own deadline is 10 s, so that it says the reason

Json rdma_json(const std::optional<RdmaDevice>& device) {
  if (!device) return nullptr;
  Json json = {{"device", device->name}, {"port", device->port}, {"nodes", Json::array()}};
  for (const DeviceNode& node : device->nodes) json["nodes"].push_back(node.path);
  return json;
}

// RDMA needs as much locked memory as it can get. Less than "unlimited" is worth a look by the
// user.
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

// What the container may know of its lease. Nothing in it is a secret.
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
    const RailLease& rail = input.lease.rails[i];
    Json entry = {{"interface", rail.interface},
                  {"address", netns::to_string(rail.address)},
                  {"mac", netns::to_string(rail.mac)},
                  {"rdma", rdma_json(input.rdma[i])}};
    if (!input.rdma[i]) {
      entry["rdma_absent"] = str("interface '", rail.parent, "' of the host has no RDMA device");
    }
    json["rails"].push_back(std::move(entry));
  }
  for (const vipu::Card& card : input.cards) json["cards"].push_back(card_json(card));
  return base::to_pretty_text(json);
}

HookEntry hook_entry(const PlanInput& input, const char* stage) {
  return {input.hook_program,
          {"ipu-container-hook", stage, "--lease", input.lease.id},
          kHookTimeoutSeconds};
}

void add_fabric(const PlanInput& input, Plan& plan) {
  plan.files["ipuof.conf"] = vipu::to_ipuof_file(input.ipuof);
  for (const std::optional<RdmaDevice>& device : input.rdma) {
    if (!device) continue;
    plan.edit.devices.insert(plan.edit.devices.end(), device->nodes.begin(), device->nodes.end());
  }
  plan.edit.mounts.insert(plan.edit.mounts.begin(),
                          {str(input.lease_dir, "/ipuof.conf"), kIpuofFile});
  plan.edit.environment = {{"IPUOF_CONFIG_PATH", kIpuofFile}};
  // With these a tenant would change its own address, leave its macvlan's private mode, or send raw
  // packets by RDMA.
  plan.edit.forget_capabilities = {"CAP_NET_ADMIN", "CAP_NET_RAW"};
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

}  // namespace

Plan make_plan(const PlanInput& input) {
  Plan plan;
  plan.files["lease.json"] = lease_json(input);
  plan.edit.mounts = {{str(input.lease_dir, "/lease.json"), kLeaseFile}};
  plan.edit.forget_environment = {"IPUOF_VIPU_API_*"};
  plan.edit.memlock = input.memlock;
  plan.edit.create_runtime = {hook_entry(input, "createRuntime")};
  plan.edit.poststop = {hook_entry(input, "poststop")};
  plan.edit.annotations = {{"graphcore.ai/ipu.lease", input.lease.id}};
  if (input.cards.empty()) {
    add_fabric(input, plan);
  } else {
    add_cards(input, plan);
  }
  return plan;
}

std::vector<LeasedIpu> leased_cards(const std::vector<vipu::Card>& cards) {
  std::vector<LeasedIpu> ipus;
  for (const vipu::Card& card : cards) ipus.push_back({{}, card.number, 0, 0});
  return ipus;
}

Result<std::vector<LeasedIpu>> leased_ipus(const vipu::IpuofConfig& config, uint32_t count) {
  if (config.devices.size() != count) {
    return Error(Code::kInvalid, str("the controller granted ", config.devices.size(),
                                     " IPUs where ", count, " were asked for"));
  }
  std::vector<LeasedIpu> ipus;
  for (const vipu::IpuofDevice& device : config.devices) {
    LeasedIpu ipu;
    ipu.address = TRY_CTX("IPUoF configuration", netns::parse_ipv4(device.ip));
    if (device.server_port > 65535 || device.rdma_port > 65535) {
      return Error(Code::kInvalid, str("IPUoF configuration: IPU ", device.device_id, " of ",
                                       device.ip, " has an impossible port"));
    }
    ipu.device = device.device_id;
    ipu.server_port = static_cast<uint16_t>(device.server_port);
    ipu.rdma_port = static_cast<uint16_t>(device.rdma_port);
    ipus.push_back(ipu);
  }
  return ipus;
}

netns::AttachPlan attach_plan(const Lease& lease, const RailLease& rail,
                              const std::vector<netns::Ipv4>& guarded) {
  netns::AttachPlan plan;
  plan.parent = rail.parent;
  plan.interface = rail.interface;
  plan.mac = rail.mac;
  plan.address = rail.address;
  for (const LeasedIpu& ipu : lease.devices) {
    plan.peers.push_back({ipu.address, ipu.server_port});
    plan.peers.push_back({ipu.address, ipu.rdma_port});
  }
  plan.prohibited = lease.prohibited;
  for (const netns::Ipv4 address : guarded) plan.guarded.push_back({address, 32});
  return plan;
}

}  // namespace hook
