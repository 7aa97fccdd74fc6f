// SPDX-License-Identifier: Apache-2.0
// network list: the rails of this host, their addresses, and the interfaces that containers have.
#include <algorithm>
#include <memory>

#include "base/fs.h"
#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/list_text.h"
#include "cmd/ipuctl/names.h"
#include "hook/config/paths.h"
#include "hook/config/scheme.h"
#include "hook/container/device/rdma.h"
#include "hook/lifecycle/env.h"

namespace ipuctl {
namespace {

using namespace base::names;
using base::Json;
using hook::config::RailConfig;
using hook::ledger::Lease;
using hook::ledger::RailLease;

// An RNIC, or one of its functions, as the host shows it now.
struct Nic {
  std::string name;
  std::string state;  // "up", "down", "no carrier", "absent": a container has it, or nobody
  uint32_t mtu = 0;   // 0: unknown
  std::string mac = {};
  std::optional<int32_t> numa = {};
  std::string rdma = {};  // its RDMA device; empty: none
};

// An interface that a container has.
struct Link {
  const Lease* lease;
  const RailLease* rail;
};

struct RailView {
  const RailConfig* config;
  std::vector<Nic> nics;
  hook::ledger::Ledger::RailUse use;
  std::vector<Link> links = {};
};

std::optional<int32_t> numa_of(const std::string& sysfs, const std::string& interface) {
  constexpr size_t kMaxNumber = 32;
  const auto text =
      base::read_file(str(sysfs, "/class/net/", interface, "/device/numa_node"), kMaxNumber);
  if (!text.ok()) return std::nullopt;
  const auto node = base::parse_int<int32_t>(base::trim(text.value()), 0, 65535);
  return node.ok() ? std::optional(node.value()) : std::nullopt;
}

Nic look_at_nic(const hook::lifecycle::Env& env, const std::string& name) {
  Nic nic{name, "absent"};
  const auto link = env.host.link(name);
  if (!link.ok()) return nic;
  const netns::LinkFacts& facts = link.value();
  nic.state = !facts.is_up ? "down" : facts.has_carrier ? "up" : "no carrier";
  nic.mtu = facts.mtu;
  nic.mac = netns::to_string(facts.mac);
  nic.numa = numa_of(env.sysfs, facts.name);
  const auto rdma = hook::device::find_rdma_device(env.sysfs, facts.name);
  if (rdma.ok() && rdma.value()) nic.rdma = rdma.value()->name;
  return nic;
}

std::vector<std::string> interfaces_of(const RailConfig& rail) {
  return rail.functions.empty() ? std::vector<std::string>{rail.parent} : rail.functions;
}

Result<RailView> look_at_rail(hook::lifecycle::Env& env, const RailConfig& rail,
                              const std::vector<Lease>& leases) {
  const auto use = TRY(env.ledger.use_of(rail));
  RailView view{&rail, {}, use};
  const std::vector<std::string> interfaces = interfaces_of(rail);
  for (const std::string& name : interfaces) view.nics.push_back(look_at_nic(env, name));
  for (const Lease& lease : leases) {
    for (const RailLease& one : lease.rails) {
      const bool is_here =
          std::find(interfaces.begin(), interfaces.end(), one.parent) != interfaces.end();
      if (is_here) view.links.push_back({&lease, &one});
    }
  }
  return view;
}

// ---- as text

std::string range_text(const RailConfig& rail) {
  const auto range = hook::config::range_of(rail);
  return range ? hook::config::to_string(*range) : "-";
}

std::string mode_text(const RailConfig& rail) {
  if (!rail.functions.empty()) return "function";
  return rail.mode == netns::MacvlanMode::kBridge ? "bridge" : "private";
}

Json link_json(const Link& link, const Names& names) {
  const auto& [lease, rail] = link;
  return {{"interface", rail->interface},
          {"parent", rail->parent},
          {"address", netns::to_string(rail->address)},
          {"mac", netns::to_string(rail->mac)},
          {"by_ipu", rail->by_ipu},
          {"netns", lease->netns.inode},
          {"lease", lease->id},
          {"shared_with", lease->attachment == lease->id ? "" : lease->attachment},
          {"container", lease->container},
          {"name", name_in(names, lease->container)},
          {"tenant", lease->tenant},
          {"state", name_of(lease->state)}};
}

Json rail_json(const RailView& view, const Names& names) {
  const RailConfig& rail = *view.config;
  Json json = {{"rail", hook::config::name_of(rail)},
               {"subnet", netns::to_string(rail.subnet)},
               {"mode", mode_text(rail)},
               {"range", rail.has_range ? range_text(rail) : ""},
               {"scheme", rail.base ? "ipu" : "range"},
               {"free", view.use.free},
               {"held", view.use.held},
               {"quarantined", view.use.quarantined},
               {"held_by_ipu", view.use.held_by_ipu},
               {"interfaces", Json::array()},
               {"links", Json::array()}};
  for (const Nic& nic : view.nics) {
    Json one = {{"interface", nic.name}, {"state", nic.state}, {"mtu", nic.mtu},
                {"mac", nic.mac},        {"numa", nullptr},    {"rdma", nic.rdma}};
    if (nic.numa) one["numa"] = *nic.numa;
    json["interfaces"].push_back(std::move(one));
  }
  for (const Link& link : view.links) json["links"].push_back(link_json(link, names));
  return json;
}

Rows rail_rows(const std::vector<RailView>& views, Output output) {
  Rows rows = {{"RAIL", "INTERFACE", "STATE", "MTU", "NUMA", "RDMA", "MODE", "RANGE", "FREE",
                "HELD", "QUARANTINED"}};
  if (output == Output::kWide) rows[0].insert(rows[0].end(), {"BY-IPU", "SUBNET", "MAC"});
  for (const RailView& view : views) {
    const RailConfig& rail = *view.config;
    for (const Nic& nic : view.nics) {
      rows.push_back({hook::config::name_of(rail), nic.name, nic.state,
                      nic.mtu == 0 ? "-" : str(nic.mtu), nic.numa ? str(*nic.numa) : "-",
                      or_dash(nic.rdma), mode_text(rail), rail.has_range ? range_text(rail) : "-",
                      str(view.use.free), str(view.use.held), str(view.use.quarantined)});
      if (output != Output::kWide) continue;
      rows.back().insert(rows.back().end(), {str(view.use.held_by_ipu),
                                             netns::to_string(rail.subnet), or_dash(nic.mac)});
    }
  }
  return rows;
}

Rows link_rows(const std::vector<RailView>& views, const Names& names, Output output) {
  Rows rows = {
      {"LINK", "PARENT", "ADDRESS", "MAC", "NETNS", "LEASE", "CONTAINER", "NAME", "STATE"}};
  if (output == Output::kWide) rows[0].insert(rows[0].end(), {"TENANT", "SHARED-WITH"});
  for (const RailView& view : views) {
    for (const auto& [lease, rail] : view.links) {
      rows.push_back(
          {rail->interface, rail->parent, netns::to_string(rail->address),
           netns::to_string(rail->mac), lease->netns.inode == 0 ? "-" : str(lease->netns.inode),
           base::short_id(lease->id), base::short_id(lease->container),
           or_dash(name_in(names, lease->container)), std::string(name_of(lease->state))});
      if (output != Output::kWide) continue;
      const bool is_own = lease->attachment.empty() || lease->attachment == lease->id;
      rows.back().insert(rows.back().end(), {or_dash(lease->tenant),
                                             is_own ? "-" : base::short_id(lease->attachment)});
    }
  }
  return rows;
}

Result<Outcome> run_network_list(const Output& output) {
  const hook::config::Config config = TRY(hook::config::load_config(hook::config::config_file()));
  hook::ledger::Ledger ledger = TRY(read_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  const std::vector<Lease> leases = TRY(ledger.live());
  const Names names = names_of(leases);
  std::vector<RailView> views;
  for (const RailConfig& rail : config.network.rails)
    views.push_back(TRY(look_at_rail(env, rail, leases)));
  Json list = Json::array();
  for (const RailView& view : views) list.push_back(rail_json(view, names));
  Outcome outcome{list_text(list, rail_rows(views, output), output)};
  const bool is_table = output == Output::kTable || output == Output::kWide;
  if (is_table) outcome.text += str('\n', table(link_rows(views, names, output)));
  return outcome;
}

}  // namespace

void add_network_commands(CLI::App& app, Command& chosen) {
  CLI::App& group = add_group(
      app, {"network", "List the rails, and the interfaces of containers", "ipuctl network list"});
  const auto output = std::make_shared<Output>(Output::kTable);
  Options list =
      add_command(group,
                  {"list", "List the rails of this host, their addresses, and who has them",
                   "ipuctl network list\nipuctl network list -o wide"},
                  chosen, [output] { return run_network_list(*output); });
  list.list_output(*output);
  list.watch();
}

}  // namespace ipuctl
