// SPDX-License-Identifier: Apache-2.0
// What look_at_host() looks at.
#include <algorithm>
#include <filesystem>
#include <set>

#include "base/fs.h"
#include "base/rlimit.h"
#include "base/text.h"
#include "hook/doctor/device_links.h"
#include "hook/doctor/doctor.h"
#include "hook/lifecycle/low_level.h"
#include "netns/attach.h"
#include "netns/trial.h"
#include "vipu/local/cards.h"

namespace hook {
namespace {

using base::Result;
using base::Status;
using base::str;

// The functions that live leases have.
std::set<std::string> held_functions(Result<Ledger>& ledger) {
  std::set<std::string> held;
  if (!ledger.ok()) return held;
  const Result<std::vector<Lease>> leases = ledger.value().live();
  if (!leases.ok()) return held;
  for (const Lease& lease : leases.value()) {
    for (const RailLease& rail : lease.rails) {
      if (rail.kind == netns::LinkKind::kFunction) held.insert(rail.parent);
    }
  }
  return held;
}

std::optional<GidTable> find_gids(const std::string& sysfs, const RdmaDevice& device) {
  const Result<GidTable> table = read_gids(sysfs, device.name, device.port);
  return table.ok() ? std::optional(table.value()) : std::nullopt;
}

// It is there once somebody has made the device's folder in configfs.
std::string find_default_roce_mode(const std::string& sysfs, const RdmaDevice& device) {
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
                       .rdma = find_rdma_device(sysfs, name),
                       .gids = std::nullopt,
                       .default_roce_mode = ""};
  if (!state.rdma.ok() || !state.rdma.value()) return state;
  state.gids = find_gids(sysfs, *state.rdma.value());
  state.default_roce_mode = find_default_roce_mode(sysfs, *state.rdma.value());
  return state;
}

RailState look_at_rail(const RailConfig& rail, Result<Ledger>& ledger, const netns::Namespace& host,
                       const std::string& sysfs, Trials trials) {
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

bool is_systemds(const HostFolders& folders) {
  std::error_code err;  // sd_booted(3) asks the same
  return std::filesystem::is_directory(str(folders.run, "/systemd/system"), err);
}

std::vector<DeviceNode> rdma_nodes(const Config& config, const std::vector<RailState>& rails) {
  std::vector<DeviceNode> nodes;
  if (config.network.rdma == RdmaMode::kOff) return nodes;
  for (const RailState& rail : rails) {
    for (const InterfaceState& interface : rail.interfaces) {
      if (!interface.rdma.ok() || !interface.rdma.value()) continue;
      const std::vector<DeviceNode>& more = interface.rdma.value()->nodes;
      nodes.insert(nodes.end(), more.begin(), more.end());
    }
  }
  return nodes;
}

std::vector<DeviceNode> card_nodes(const Config& config, const HostFolders& folders) {
  std::vector<DeviceNode> nodes;
  const bool has_cards =
      std::any_of(config.pools.begin(), config.pools.end(),
                  [](const PoolConfig& pool) { return pool.provider == Provider::kPcie; });
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

}  // namespace

HostState look_at_host(const Config& config, Result<Ledger>& ledger, const netns::Namespace& host,
                       const HostFolders& folders, Trials trials) {
  HostState state{.runtime = choose_runtime(config.runtimes),
                  .ledger = ledger.ok() ? Status() : Status(ledger.error()),
                  .filter = std::nullopt,
                  .addresses = netns::addresses_of(host),
                  .rdma_mode = netns::rdma_mode(host),
                  .memlock = base::highest_memlock(),
                  .rails = {}};
  if (trials == Trials::kAllowed) state.filter = netns::try_filter();
  for (const RailConfig& rail : config.network.rails) {
    state.rails.push_back(look_at_rail(rail, ledger, host, folders.sysfs, trials));
  }
  if (is_systemds(folders)) {
    std::vector<DeviceNode> nodes = rdma_nodes(config, state.rails);
    const std::vector<DeviceNode> cards = card_nodes(config, folders);
    nodes.insert(nodes.end(), cards.begin(), cards.end());
    state.device_links = look_at_device_links(folders.dev, nodes);
  }
  return state;
}

}  // namespace hook
