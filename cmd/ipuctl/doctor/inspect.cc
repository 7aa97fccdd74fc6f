// SPDX-License-Identifier: Apache-2.0
// Looks at the host for ipuctl doctor.
#include <algorithm>
#include <filesystem>
#include <set>

#include "base/fs.h"
#include "base/names.h"
#include "base/rlimit.h"
#include "base/signal_record.h"
#include "base/text.h"
#include "cmd/ipuctl/doctor/device_links.h"
#include "cmd/ipuctl/doctor/doctor.h"
#include "hook/lifecycle/client_user.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/low_level.h"
#include "hook/lifecycle/network/guard.h"
#include "netns/attach.h"
#include "netns/border.h"
#include "netns/checksums.h"
#include "netns/flows.h"
#include "netns/guard.h"
#include "netns/trial.h"
#include "vipu/local/cards.h"

namespace ipuctl::doctor {
namespace {

using namespace base::names;

// Returns the functions that live leases hold.
std::set<std::string> held_functions(Result<hook::ledger::Ledger>& ledger) {
  std::set<std::string> held;
  if (!ledger.ok()) return held;
  const Result<std::vector<hook::ledger::Lease>> leases = ledger.value().live();
  if (!leases.ok()) return held;
  for (const hook::ledger::Lease& lease : leases.value()) {
    for (const hook::ledger::RailLease& rail : lease.rails) {
      if (rail.kind == netns::LinkKind::kFunction) held.insert(rail.parent);
    }
  }
  return held;
}

std::optional<hook::device::GidTable> find_gids(const std::string& sysfs,
                                                const hook::device::RdmaDevice& device) {
  const Result<hook::device::GidTable> table =
      hook::device::read_gids(sysfs, device.name, device.port);
  return table.ok() ? std::optional(table.value()) : std::nullopt;
}

// Returns the port's default RoCE mode; empty unless somebody has made the device's folder in
// configfs.
std::string find_default_roce_mode(const std::string& sysfs,
                                   const hook::device::RdmaDevice& device) {
  const std::string path = str(sysfs, "/kernel/config/rdma_cm/", device.name, "/ports/",
                               device.port, "/default_roce_mode");
  constexpr size_t kMaxBytes = 256;
  const Result<std::string> text = base::read_file(path, kMaxBytes);
  return text.ok() ? std::string(base::trim(text.value())) : "";
}

InterfaceState look_at_interface(const std::string& name, const netns::Namespace& host,
                                 const std::string& sysfs) {
  InterfaceState state{.name = name,
                       .is_held = false,
                       .link = netns::inspect_link(host, name, sysfs, netns::Taker::kLookFor),
                       .rdma = hook::device::find_rdma_device(sysfs, name),
                       .gids = std::nullopt,
                       .default_roce_mode = ""};
  if (!state.rdma.ok() || !state.rdma.value()) return state;
  state.gids = find_gids(sysfs, *state.rdma.value());
  state.default_roce_mode = find_default_roce_mode(sysfs, *state.rdma.value());
  return state;
}

RailState look_at_rail(const hook::config::RailConfig& rail, Result<hook::ledger::Ledger>& ledger,
                       const netns::Namespace& host, const std::string& sysfs, Trials trials) {
  RailState state{.interfaces = {},
                  .macvlan = std::nullopt,
                  .use = ledger.ok() ? ledger.value().use_of(rail) : ledger.error()};
  if (rail.functions.empty()) {
    state.interfaces.push_back(look_at_interface(rail.parent, host, sysfs));
    if (trials == Trials::kAllowed) state.macvlan = netns::try_macvlan(host, rail.parent);
    return state;
  }
  const std::set<std::string> held = held_functions(ledger);
  for (const std::string& function : rail.functions) {
    state.interfaces.push_back(look_at_interface(function, host, sysfs));
    state.interfaces.back().is_held = held.contains(function);
  }
  return state;
}

// Looks at what goes past a border by WAY on PARENT.
void look_at_border(const netns::Namespace& host, netns::FilterPlace way, const std::string& parent,
                    RailState& state) {
  state.rival = netns::find_rival(host, way, parent);
  const Result<std::optional<bool>> leaves = netns::leaves_checksums_to_device(host, parent);
  if (leaves.ok()) state.leaves_checksums_to_device = leaves.value();
}

bool is_systemds(const HostFolders& folders) {
  std::error_code err;  // sd_booted(3) asks the same
  return std::filesystem::is_directory(str(folders.run, "/systemd/system"), err);
}

std::vector<hook::oci::DeviceNode> rdma_nodes(const hook::config::Config& config,
                                              const std::vector<RailState>& rails) {
  std::vector<hook::oci::DeviceNode> nodes;
  if (config.network.rdma == hook::config::RdmaUse::kOff) return nodes;
  for (const RailState& rail : rails) {
    for (const InterfaceState& interface : rail.interfaces) {
      if (!interface.rdma.ok() || !interface.rdma.value()) continue;
      const std::vector<hook::oci::DeviceNode>& more = interface.rdma.value()->nodes;
      nodes.insert(nodes.end(), more.begin(), more.end());
    }
  }
  return nodes;
}

std::vector<hook::oci::DeviceNode> card_nodes(const hook::config::Config& config,
                                              const HostFolders& folders) {
  std::vector<hook::oci::DeviceNode> nodes;
  const bool has_cards = std::any_of(config.pools.begin(), config.pools.end(),
                                     [](const hook::config::PoolConfig& pool) {
                                       return pool.provider == hook::config::Provider::kPcie;
                                     });
  if (!has_cards) return nodes;
  const Result<std::vector<vipu::Card>> cards = vipu::local::read_cards(folders.sysfs, folders.dev);
  if (!cards.ok()) return nodes;
  for (const vipu::Card& card : cards.value()) {
    for (const vipu::CardNode& node : card.nodes) {
      nodes.push_back({node.path, node.major, node.minor});
    }
  }
  return nodes;
}

// Returns nothing where the kernel does not tell.
std::vector<netns::Flow> look_at_flows(const hook::config::Config& config,
                                       Result<hook::ledger::Ledger>& ledger,
                                       const netns::Namespace& host) {
  if (!ledger.ok()) return {};
  const Result<std::vector<hook::ledger::Lease>> live = ledger.value().live();
  const auto known =
      hook::lifecycle::network::remembered_controllers(hook::config::run_dir(), config);
  if (!live.ok()) return {};
  const netns::Guard guard =
      hook::lifecycle::network::guard_of(config, known.controllers, live.value());
  Result<std::vector<netns::Flow>> flows = netns::flows_to_end(host, guard);
  return flows.ok() ? std::move(flows).take() : std::vector<netns::Flow>();
}

std::vector<std::string> adopted_alone(const hook::config::Config& config,
                                       Result<hook::ledger::Ledger>& ledger) {
  std::vector<std::string> names;
  if (config.fleet || !ledger.ok()) return names;
  const auto records = ledger.value().partitions().all();
  if (!records.ok()) return names;
  for (const hook::ledger::PartitionRecord& record : records.value())
    if (record.kind == hook::ledger::PartitionKind::kForeign) names.push_back(record.name);
  return names;
}

// Returns the last line of the records. A file that others wrote may hold anything.
std::string last_record(const std::string& path) {
  constexpr size_t kLongest = 400;
  const Result<std::string> text = base::read_file(path, 2 * base::kMaxRecords);
  if (!text.ok()) return "";
  const std::string_view records = base::trim(text.value());
  return base::one_line(records.substr(records.rfind('\n') + 1), kLongest);
}

}  // namespace

HostState look_at_host(const hook::config::Config& config, Result<hook::ledger::Ledger>& ledger,
                       const netns::Namespace& host, const HostFolders& folders, Trials trials) {
  HostState state{.runtime = hook::lifecycle::choose_runtime(config.runtimes),
                  .ledger = ledger.ok() ? ledger.value().host().check_is(
                                              hook::lifecycle::this_host(config.host_id))
                                        : Status(ledger.error()),
                  .client_user = hook::lifecycle::client_user().is_its_own,
                  .filter = std::nullopt,
                  .addresses = netns::addresses_of(host),
                  .rdma_mode = netns::rdma_mode(host),
                  .memlock = base::highest_memlock(),
                  .rails = {}};
  if (trials == Trials::kAllowed) {
    state.filter = netns::try_filter();
    state.border = netns::try_border(config.network.filter);
    const Result<std::vector<netns::MacAddress>> others = netns::passed_others(host);
    if (others.ok()) state.others = others.value();
    const Result<bool> guard = netns::has_guard(host);
    if (guard.ok()) state.has_guard = guard.value();
    if (!config.network.guard_forwarding) state.flows = look_at_flows(config, ledger, host);
  }
  for (const hook::config::RailConfig& rail : config.network.rails) {
    state.rails.push_back(look_at_rail(rail, ledger, host, folders.sysfs, trials));
    if (state.border && state.border->ok() && rail.functions.empty())
      look_at_border(host, state.border->value(), rail.parent, state.rails.back());
  }
  if (is_systemds(folders)) {
    std::vector<hook::oci::DeviceNode> nodes = rdma_nodes(config, state.rails);
    const std::vector<hook::oci::DeviceNode> cards = card_nodes(config, folders);
    nodes.insert(nodes.end(), cards.begin(), cards.end());
    state.device_links = look_at_device_links(folders.dev, nodes);
  }
  state.adopted = adopted_alone(config, ledger);
  state.forbidden_call = last_record(folders.forbidden_calls);
  state.crash = last_record(folders.crashes);
  return state;
}

}  // namespace ipuctl::doctor
