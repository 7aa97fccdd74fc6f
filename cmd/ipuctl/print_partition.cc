// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/print_partition.h"

#include <algorithm>

#include "base/clock.h"
#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/list_text.h"

namespace ipuctl {
namespace {

using base::Json;
using namespace base::names;

const char* yes_or_no(bool value) { return value ? "yes" : "no"; }

bool is_shared(const PartitionView& view) { return view.record && view.record->shared; }

std::string holders_text(const PartitionView& view) {
  std::vector<std::string> containers;
  for (const hook::ledger::Lease& lease : view.leases)
    containers.push_back(base::short_id(lease.container));
  for (const hook::fleet::Claim& claim : view.claims)
    containers.push_back(str(base::short_id(claim.container), "@", claim.host));
  return or_dash(base::join(containers, ","));
}

// Returns the kind, and where a warm partition of a fleet is from: "WARM@1f2e3d4c".
std::string kind_text(const PartitionView& view) {
  return str(kind_of(view), view.maker.empty() ? "" : "@", view.maker);
}

Json to_json(const PartitionView& view) {
  const vipu::Partition& partition = view.partition;
  Json json = {{"partition", partition.id},
               {"pool", view.pool},
               {"state", vipu::name_of(partition.ready)},
               {"cluster", partition.cluster},
               {"allocation", partition.allocation},
               {"size", partition.ipus.size()},
               {"gcds", partition.gcds},
               {"replicas", partition.replicas},
               {"segments", partition.segments},
               {"link_routing", vipu::name_of(partition.link_routing)},
               {"gateway_routing", vipu::name_of(partition.gateway_routing)},
               {"sync_type", vipu::name_of(partition.sync)},
               {"reconfigurable", partition.reconfigurable},
               {"kind", kind_of(view)},
               {"shared", is_shared(view)},
               {"holders", Json::array()},
               {"ipus", Json::array()}};
  for (const hook::ledger::Lease& lease : view.leases) {
    json["holders"].push_back({{"container", lease.container},
                               {"gcd", lease.gcd},
                               {"gcds", lease.gcds},
                               {"lease", lease.id}});
  }
  for (const hook::fleet::Claim& claim : view.claims) {
    json["holders"].push_back({{"container", claim.container},
                               {"gcd", claim.gcd},
                               {"gcds", claim.gcds},
                               {"host", claim.host},
                               {"lease", claim.id}});
  }
  if (!view.maker.empty()) json["maker"] = view.maker;
  for (const vipu::IpuPlace& ipu : partition.ipus) {
    json["ipus"].push_back({{"domain", ipu.domain}, {"ipu", ipu.ipu}});
  }
  return json;
}

std::string reset_time(const vipu::PartitionStatus& status) {
  return status.last_auto_reset == 0 ? "" : base::rfc3339(status.last_auto_reset * 1000);
}

Json to_json(const vipu::PartitionStatus& status) {
  return {{"state", vipu::name_of(status.ready)},
          {"operation", vipu::name_of(status.operation)},
          {"errors", status.errors},
          {"auto_resets", status.auto_resets},
          {"max_auto_resets", status.max_auto_resets},
          {"last_auto_reset", reset_time(status)}};
}

std::string resets_text(const vipu::PartitionStatus& status) {
  std::string text = str(status.auto_resets);
  if (status.max_auto_resets != 0) text += str(" of at most ", status.max_auto_resets);
  if (status.last_auto_reset != 0) text += str(", the last at ", reset_time(status));
  return text;
}

}  // namespace

std::string success_text(const std::string& verb, const std::string& name) {
  return str(verb, " partition (", name, "): success.\n");
}

std::string places_text(const std::vector<vipu::IpuPlace>& ipus) {
  std::string text;
  for (size_t i = 0; i < ipus.size();) {
    size_t end = i + 1;
    while (end < ipus.size() && ipus[end].domain == ipus[i].domain &&
           ipus[end].ipu == ipus[end - 1].ipu + 1) {
      ++end;
    }
    text += str(text.empty() ? "" : " ", ipus[i].domain, "/", ipus[i].ipu);
    if (end - i > 1) text += str("-", ipus[end - 1].ipu);
    i = end;
  }
  return or_dash(text);
}

std::string partitions_text(const std::vector<PartitionView>& views, Holders holders,
                            Output output) {
  const bool is_table = output == Output::kTable || output == Output::kWide;
  if (!is_table) {
    Json json = Json::array();
    for (const PartitionView& view : views) json.push_back(to_json(view));
    return list_text(json, {}, output);
  }
  if (output == Output::kWide) holders = Holders::kShow;
  Rows rows = {
      {"Partition", "Cluster", "ILDs", "GW Routing", "ILD Routing", "Size", "GCDs", "State"}};
  if (holders == Holders::kShow) {
    rows[0].insert(rows[0].end(), {"Kind", "Shared", "Containers"});
  }
  for (const PartitionView& view : views) {
    const vipu::Partition& partition = view.partition;
    rows.push_back({partition.id, or_dash(partition.cluster), str(partition.segments),
                    vipu::name_of(partition.gateway_routing), vipu::name_of(partition.link_routing),
                    str(partition.ipus.size()), str(partition.gcds),
                    vipu::name_of(partition.ready)});
    if (holders == Holders::kHide) continue;
    rows.back().insert(rows.back().end(),
                       {kind_text(view), yes_or_no(is_shared(view)), holders_text(view)});
  }
  return vipu_table(rows);
}

std::string partition_json(const PartitionView& view) {
  return base::to_pretty_text(to_json(view));
}

std::string partition_text(const PartitionView& view, const vipu::PartitionStatus& status,
                           Output output) {
  if (output == Output::kJson) {
    Json json = to_json(view);
    json["status"] = to_json(status);
    return base::to_pretty_text(json);
  }
  const vipu::Partition& partition = view.partition;
  Rows rows = {{"partition", partition.id},
               {"pool", view.pool},
               {"state", str(vipu::name_of(status.ready), ", ", vipu::name_of(status.operation))},
               {"cluster", or_dash(partition.cluster)},
               {"allocation", or_dash(partition.allocation)},
               {"size", str(partition.ipus.size())},
               {"gcds", str(partition.gcds)},
               {"replicas", str(partition.replicas)},
               {"segments", str(partition.segments)},
               {"link routing", vipu::name_of(partition.link_routing)},
               {"gateway routing", vipu::name_of(partition.gateway_routing)},
               {"sync type", vipu::name_of(partition.sync)},
               {"reconfigurable", yes_or_no(partition.reconfigurable)},
               {"kind", kind_text(view)},
               {"shared", yes_or_no(is_shared(view))},
               {"ipus", places_text(partition.ipus)},
               {"auto resets", resets_text(status)}};
  for (const std::string& error : status.errors) rows.push_back({"error", error});
  for (const hook::ledger::Lease& lease : view.leases) {
    rows.push_back({"holder", str("container ", base::short_id(lease.container), ", ",
                                  gcds_text(lease), ", lease ", base::short_id(lease.id))});
  }
  for (const hook::fleet::Claim& claim : view.claims)
    rows.push_back({"holder", hook::fleet::holder_text(claim)});
  return table(rows);
}

std::string would_text(const std::string& verb, const std::string& name,
                       const std::vector<std::string>& containers, Output output) {
  if (output == Output::kJson) {
    return base::to_pretty_text(Json{{str("would_", verb), name}, {"containers", containers}});
  }
  std::string text = str("would ", verb, " partition ", name, "\n");
  for (const std::string& container : containers) {
    text += str("  container ", container, " would lose its IPUs\n");
  }
  return text;
}

std::string removed_text(const std::string& name,
                         const hook::lifecycle::partitions::RemovedPartition& removed,
                         Output output) {
  const bool was_there = removed.removed == base::Removed::kNow;
  if (output == Output::kJson) {
    return base::to_pretty_text({{"partition", name},
                                 {"removed", was_there},
                                 {"forgotten", removed.forgotten},
                                 {"containers", removed.containers}});
  }
  std::string text = success_text("remove", name);
  if (removed.forgotten) return text + "the controller keeps it, because it was adopted\n";
  if (!was_there) text += "the controller no longer had it\n";
  for (const std::string& container : removed.containers) {
    text += str("taken from container ", container, ", which keeps running without its IPUs\n");
  }
  return text;
}

Result<std::string> configs_text(const std::string& name,
                                 const std::vector<vipu::IpuofConfig>& gcds, Output output) {
  Json json = Json::array();
  for (const vipu::IpuofConfig& gcd : gcds) {
    json.push_back(TRY(base::parse_json(vipu::to_ipuof_file(gcd), "IPUoF configuration")));
  }
  if (output == Output::kJson) return base::to_pretty_text(json);
  const std::string header = str("IPUoF configuration of partition (", name, "):\n");
  return header + base::to_pretty_text(json.size() == 1 ? json.front() : json);
}

std::string attributes_text(const std::vector<vipu::IpuAttributes>& ipus, Output output) {
  Json json = Json::array();
  Rows rows = {{"Agent", "IPU", "Attribute", "Value"}};
  for (const vipu::IpuAttributes& ipu : ipus) {
    json.push_back({{"agent", ipu.agent}, {"ipu", ipu.ipu}, {"attributes", ipu.attributes}});
    for (const auto& [name, value] : ipu.attributes) {
      rows.push_back({ipu.agent, str(ipu.ipu), name, value});
    }
  }
  return output == Output::kJson ? base::to_pretty_text(json) : vipu_table(rows);
}

}  // namespace ipuctl
