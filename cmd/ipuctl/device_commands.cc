// SPDX-License-Identifier: Apache-2.0
// device list, show: the IPUs of the pools, one by one. A card is called "ipu0", as its node is; an
// IPU of a controller or an IPUoF file "POOL/DOMAIN/IPU".
#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/devices/devices.h"
#include "cmd/ipuctl/list_text.h"
#include "cmd/ipuctl/names.h"
#include "cmd/ipuctl/partition_view.h"
#include "hook/config/paths.h"
#include "hook/lifecycle/env.h"
#include "vipu/local/cards.h"

namespace ipuctl {
namespace {

using namespace base::names;
using base::Json;
using devices::Device;
using devices::Health;
using devices::Holder;
using hook::config::PoolConfig;
using hook::config::Provider;

struct DeviceOptions {
  Output output = Output::kTable;
  std::string pool;    // empty: all
  std::string device;  // of show
};

// A device of a pool, and what this host knows of it as a card.
struct PoolDevice {
  std::string name;
  std::string pool;
  Device device;
  std::optional<uint32_t> number = {};  // a card's N of /dev/ipuN; unset: it is no card
  vipu::Card card = {};                 // without an address if the driver does not show it
  std::string driver = {};
};

std::vector<Holder> holders_of(const std::vector<PartitionView>& views) {
  std::vector<Holder> holders;
  for (const PartitionView& view : views) {
    for (const hook::ledger::Lease& lease : view.leases) {
      holders.push_back(
          {view.partition.id, lease.gcd, lease.gcds, lease.id, lease.container, lease.tenant, ""});
    }
    for (const hook::fleet::Claim& claim : view.claims) {
      holders.push_back({view.partition.id, claim.gcd, claim.gcds, claim.id, claim.container,
                         claim.tenant, claim.host});
    }
  }
  return holders;
}

// Returns the name of the driver that has the PCI device; empty if none has.
std::string driver_of(const std::string& sysfs, const std::string& pci) {
  std::error_code err;
  const auto link =
      std::filesystem::read_symlink(str(sysfs, "/bus/pci/devices/", pci, "/driver"), err);
  return err ? "" : link.filename().string();
}

// Returns the N of the card at PLACE: that of the configuration's groups, or the position.
std::optional<uint32_t> number_of(const PoolConfig& pool, const vipu::IpuPlace& place) {
  if (pool.groups.empty()) return place.ipu;
  if (place.domain >= pool.groups.size()) return std::nullopt;
  const std::vector<uint32_t>& group = pool.groups[place.domain];
  return place.ipu < group.size() ? std::optional(group[place.ipu]) : std::nullopt;
}

void add_card(const std::string& sysfs, const std::vector<vipu::Card>& cards, PoolDevice& one) {
  const auto at = std::find_if(cards.begin(), cards.end(),
                               [&](const vipu::Card& card) { return card.number == one.number; });
  if (at == cards.end()) return;
  one.card = *at;
  one.driver = driver_of(sysfs, at->pci);
}

Status add_pool(hook::lifecycle::Env& env, const PoolConfig& pool, std::vector<PoolDevice>& all,
                std::vector<Error>& obstacles) {
  const vipu::Survey survey = TRY(env.controller(pool)->survey(query_deadline()));
  const std::vector<PartitionView> views =
      TRY(list_partitions(env, pool, query_deadline(), obstacles));
  std::vector<vipu::Partition> partitions;
  for (const PartitionView& view : views) partitions.push_back(view.partition);
  std::vector<vipu::Card> cards;
  if (pool.provider == Provider::kPcie) cards = TRY(vipu::local::read_cards(env.sysfs, "/dev"));
  for (Device& device :
       devices::devices_of(survey, partitions, holders_of(views), !pool.health_command.empty())) {
    PoolDevice one;
    one.pool = pool.name;
    if (pool.provider == Provider::kPcie) one.number = number_of(pool, device.place);
    one.name = one.number ? str("ipu", *one.number)
                          : str(pool.name, '/', device.place.domain, '/', device.place.ipu);
    if (one.number) add_card(env.sysfs, cards, one);
    one.device = std::move(device);
    all.push_back(std::move(one));
  }
  return {};
}

Result<std::vector<PoolDevice>> look_at_devices(const std::string& name, Names& names,
                                                std::vector<Error>& obstacles) {
  const hook::config::Config config = TRY(hook::config::load_config(hook::config::config_file()));
  if (!name.empty()) TRY(hook::config::find_pool(config, name));
  hook::ledger::Ledger ledger = TRY(read_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  std::vector<PoolDevice> all;
  for (const PoolConfig& pool : config.pools) {
    if (!name.empty() && pool.name != name) continue;
    Status added = add_pool(env, pool, all, obstacles);
    if (!added.ok()) obstacles.push_back(std::move(added).error());
  }
  names = names_of(TRY(ledger.live()));
  return all;
}

// ---- as text

Json holders_json(const std::vector<Holder>& holders, const Names& names) {
  Json list = Json::array();
  for (const Holder& one : holders) {
    list.push_back({{"container", one.container},
                    {"name", name_in(names, one.container)},
                    {"lease", one.lease},
                    {"tenant", one.tenant},
                    {"host", one.host}});
  }
  return list;
}

Json device_json(const PoolDevice& one, const Names& names) {
  const Device& device = one.device;
  Json json = {{"device", one.name},
               {"kind", one.number ? "card" : "fabric"},
               {"pool", one.pool},
               {"domain", device.place.domain},
               {"ipu", device.place.ipu},
               {"health", devices::name_of(device.health)},
               {"reason", device.reason},
               {"partition", device.partition},
               {"state", device.partition.empty() ? "" : vipu::name_of(device.ready)},
               {"gcd", nullptr},
               {"holders", holders_json(device.holders, names)},
               {"nodes", Json::array()},
               {"pci", one.card.pci},
               {"numa", nullptr},
               {"driver", one.driver}};
  if (device.gcd) json["gcd"] = *device.gcd;
  for (const vipu::CardNode& node : one.card.nodes) json["nodes"].push_back(node.path);
  if (!one.card.pci.empty() && one.card.numa_node >= 0) json["numa"] = one.card.numa_node;
  return json;
}

// Returns what WHAT tells of each holder, as one cell.
template <typename What>
std::string holders_cell(const std::vector<Holder>& holders, What what) {
  std::vector<std::string> texts;
  for (const Holder& one : holders) texts.push_back(or_dash(what(one)));
  return texts.empty() ? "-" : base::join(texts, ",");
}

std::vector<std::string> holder_cells(const Device& device, const Names& names) {
  return {
      holders_cell(device.holders, [](const Holder& one) { return base::short_id(one.container); }),
      holders_cell(device.holders,
                   [&](const Holder& one) { return name_in(names, one.container); }),
      holders_cell(device.holders, [](const Holder& one) { return one.tenant; })};
}

std::vector<std::string> wide_cells(const PoolDevice& one) {
  std::vector<std::string> nodes;
  for (const vipu::CardNode& node : one.card.nodes) nodes.push_back(node.path);
  const Device& device = one.device;
  return {
      device.partition.empty() ? "-" : vipu::name_of(device.ready),
      device.gcd ? str(*device.gcd) : "-",
      holders_cell(device.holders, [](const Holder& each) { return base::short_id(each.lease); }),
      holders_cell(device.holders, [](const Holder& each) { return each.host; }),
      nodes.empty() ? "-" : base::join(nodes, ","),
      or_dash(device.reason)};
}

// One table: the columns of cards are left out where there is no card.
Rows rows_of(const std::vector<PoolDevice>& all, const Names& names, Output output) {
  const bool has_cards =
      std::any_of(all.begin(), all.end(), [](const PoolDevice& one) { return bool(one.number); });
  Rows rows = {{"DEVICE", "POOL"}};
  if (has_cards) rows[0].insert(rows[0].end(), {"PCI", "NUMA", "DRIVER"});
  rows[0].insert(rows[0].end(), {"HEALTH", "PARTITION", "CONTAINER", "NAME", "TENANT"});
  if (output == Output::kWide)
    rows[0].insert(rows[0].end(), {"STATE", "GCD", "LEASE", "HOST", "NODES", "REASON"});
  for (const PoolDevice& one : all) {
    std::vector<std::string> row = {one.name, one.pool};
    const bool has_numa = !one.card.pci.empty() && one.card.numa_node >= 0;
    if (has_cards)
      row.insert(row.end(), {or_dash(one.card.pci), has_numa ? str(one.card.numa_node) : "-",
                             or_dash(one.driver)});
    row.emplace_back(devices::name_of(one.device.health));
    row.push_back(or_dash(one.device.partition));
    for (std::string& cell : holder_cells(one.device, names)) row.push_back(std::move(cell));
    if (output == Output::kWide)
      for (std::string& cell : wide_cells(one)) row.push_back(std::move(cell));
    rows.push_back(std::move(row));
  }
  return rows;
}

Result<Outcome> run_device_list(const DeviceOptions& options) {
  Outcome outcome;
  Names names;
  const std::vector<PoolDevice> all = TRY(look_at_devices(options.pool, names, outcome.obstacles));
  Json list = Json::array();
  for (const PoolDevice& one : all) list.push_back(device_json(one, names));
  outcome.text = list_text(list, rows_of(all, names, options.output), options.output);
  return outcome;
}

// "a, b" of an array, and a text as it is.
std::string value_text(const Json& value) {
  if (value.is_string()) return or_dash(value.get<std::string>());
  if (value.is_null()) return "-";
  if (!value.is_array()) return base::to_text(value);
  std::vector<std::string> texts;
  for (const Json& each : value) texts.push_back(value_text(each));
  return texts.empty() ? "-" : base::join(texts, ", ");
}

std::string device_text(const PoolDevice& one, const Names& names) {
  Rows rows;
  const Json json = device_json(one, names);
  for (const auto& [key, value] : json.items())
    if (key != "holders") rows.push_back({key, value_text(value)});
  for (const Holder& holder : one.device.holders) {
    const std::string on = holder.host.empty() ? "" : str(" on host ", holder.host);
    const std::string name = name_in(names, holder.container);
    rows.push_back({"holder", str("container ", base::short_id(holder.container),
                                  name.empty() ? "" : str(" (", name, ")"), on, ", lease ",
                                  base::short_id(holder.lease),
                                  holder.tenant.empty() ? "" : str(", tenant ", holder.tenant))});
  }
  return table(rows);
}

bool is_called(const PoolDevice& one, const std::string& text) {
  if (one.name == text || (!one.card.pci.empty() && one.card.pci == text)) return true;
  return std::any_of(one.card.nodes.begin(), one.card.nodes.end(),
                     [&](const vipu::CardNode& node) { return node.path == text; });
}

Result<Outcome> run_device_show(const DeviceOptions& options) {
  Outcome outcome;
  Names names;
  const std::vector<PoolDevice> all = TRY(look_at_devices(options.pool, names, outcome.obstacles));
  for (const PoolDevice& one : all) {
    if (!is_called(one, options.device)) continue;
    outcome.text = options.output == Output::kTable ? device_text(one, names)
                                                    : base::to_pretty_text(device_json(one, names));
    return outcome;
  }
  // A pool that does not answer may have it.
  if (!outcome.obstacles.empty()) return outcome.obstacles.front();
  return Error(Code::kNotFound, str("there is no device ", base::quote(options.device),
                                    "; see 'ipuctl device list'"));
}

}  // namespace

void add_device_commands(CLI::App& app, Command& chosen) {
  CLI::App& group = add_group(app, {"device", "List IPUs, and who has them", "ipuctl device list"});
  const auto options = std::make_shared<DeviceOptions>();
  Options list = add_command(group,
                             {"list", "List the IPUs of the pools: cards, and those of controllers",
                              "ipuctl device list\nipuctl device list -o wide"},
                             chosen, [options] { return run_device_list(*options); });
  list.list_output(options->output);
  list.watch();
  list.text({"--pool", "NAME", "List only this pool (default: all)"}, options->pool);
  Options show =
      add_command(group,
                  {"show", "Show one IPU",
                   "ipuctl device show $(ipuctl device list -o json | jq -r '.[0].device')"},
                  chosen, [options] { return run_device_show(*options); });
  show.output(options->output);
  show.text({"--pool", "NAME", "Look only in this pool (default: all)"}, options->pool);
  show.argument("DEVICE", options->device,
                "The device, as 'device list' has it; a card also by its PCI address or node");
}

}  // namespace ipuctl
