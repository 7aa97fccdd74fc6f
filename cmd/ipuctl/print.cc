// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/print.h"

#include <algorithm>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "hook/config/paths.h"

namespace ipuctl {
namespace {

using base::Json;
using base::str;

constexpr size_t kShortId = 12;  // as docker cuts ids

std::string age(int64_t since_ms) {
  const int64_t seconds = std::max<int64_t>(0, (base::unix_millis() - since_ms) / 1000);
  if (seconds < 120) return str(seconds, "s");
  if (seconds < 7200) return str(seconds / 60, "m");
  if (seconds < 172'800) return str(seconds / 3600, "h");
  return str(seconds / 86'400, "d");
}

std::string addresses(const hook::Lease& lease) {
  std::string text;
  for (const hook::RailLease& rail : lease.rails) {
    text += str(text.empty() ? "" : ",", netns::to_string(rail.address));
  }
  return text.empty() ? "-" : text;
}

Json to_json(const hook::Lease& lease) {
  Json json = {{"lease", lease.id},
               {"container", lease.container},
               {"state", hook::name_of(lease.state)},
               {"pool", lease.pool},
               {"controller", lease.controller},
               {"partition", lease.partition},
               {"ipus", lease.ipus},
               {"tenant", lease.tenant},
               {"pid", lease.owner.pid},
               {"bundle", lease.bundle},
               {"created", base::rfc3339(lease.created_ms)},
               {"changed", base::rfc3339(lease.changed_ms)},
               {"error", lease.error},
               {"obstacle", lease.obstacle},
               {"rails", Json::array()},
               {"devices", Json::array()}};
  for (const hook::RailLease& rail : lease.rails) {
    json["rails"].push_back({{"interface", rail.interface},
                             {"parent", rail.parent},
                             {"address", netns::to_string(rail.address)},
                             {"mac", netns::to_string(rail.mac)}});
  }
  for (const hook::LeasedIpu& ipu : lease.devices) {
    json["devices"].push_back({{"address", netns::to_string(ipu.address)},
                               {"device", ipu.device},
                               {"server_port", ipu.server_port},
                               {"rdma_port", ipu.rdma_port}});
  }
  return json;
}

Json to_json(const std::vector<hook::Lease>& leases) {
  Json json = Json::array();
  for (const hook::Lease& lease : leases) json.push_back(to_json(lease));
  return json;
}

// The container that holds PARTITION, or an empty text.
std::string holder_of(const vipu::Partition& partition, const std::vector<hook::Lease>& leases) {
  for (const hook::Lease& lease : leases) {
    if (lease.partition == partition.id) return lease.container;
  }
  return "";
}

}  // namespace

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string version_text(Output output) {
  if (output == Output::kTable) return str("ipuctl ", hook::product_version(), "\n");
  return base::to_pretty_text({{"version", hook::product_version()}});
}

std::string leases_text(const std::vector<hook::Lease>& leases, Output output) {
  if (output == Output::kJson) return base::to_pretty_text(to_json(leases));
  std::vector<std::vector<std::string>> rows = {
      {"LEASE", "CONTAINER", "POOL", "PARTITION", "IPUS", "STATE", "ADDRESS", "PID", "AGE"}};
  for (const hook::Lease& lease : leases) {
    rows.push_back({lease.id.substr(0, kShortId), lease.container.substr(0, kShortId), lease.pool,
                    lease.partition, str(lease.ipus), std::string(hook::name_of(lease.state)),
                    addresses(lease), str(lease.owner.pid), age(lease.created_ms)});
  }
  return table(rows);
}

std::string lease_text(const hook::Lease& lease, Output output) {
  if (output == Output::kJson) return base::to_pretty_text(to_json(lease));
  std::vector<std::vector<std::string>> rows;
  const Json json = to_json(lease);
  for (const auto& [key, value] : json.items()) {
    if (!value.is_array()) {
      rows.push_back({key, value.is_string() ? value.get<std::string>() : base::to_text(value)});
    }
  }
  for (const hook::RailLease& rail : lease.rails) {
    rows.push_back({"rail", str(rail.interface, " on ", rail.parent, ": ",
                                netns::to_string(rail.address), ", ", netns::to_string(rail.mac))});
  }
  for (const hook::LeasedIpu& ipu : lease.devices) {
    rows.push_back({"ipu", str(netns::to_string(ipu.address), " device ", ipu.device, ", ports ",
                               ipu.server_port, " and ", ipu.rdma_port)});
  }
  return table(rows);
}

std::string partitions_text(const std::vector<vipu::Partition>& partitions,
                            const std::vector<hook::Lease>& leases, Output output) {
  Json json = Json::array();
  std::vector<std::vector<std::string>> rows = {
      {"PARTITION", "CLUSTER", "SIZE", "GCDS", "STATE", "CONTAINER"}};
  for (const vipu::Partition& partition : partitions) {
    const std::string holder = holder_of(partition, leases);
    json.push_back({{"partition", partition.id},
                    {"cluster", partition.cluster},
                    {"size", partition.ipus.size()},
                    {"gcds", partition.gcds},
                    {"reconfigurable", partition.reconfigurable},
                    {"state", vipu::name_of(partition.ready)},
                    {"container", holder}});
    rows.push_back({partition.id, partition.cluster, str(partition.ipus.size()),
                    str(partition.gcds), vipu::name_of(partition.ready),
                    holder.empty() ? "-" : holder.substr(0, kShortId)});
  }
  return output == Output::kJson ? base::to_pretty_text(json) : table(rows);
}

std::string orphans_text(const std::vector<hook::Lease>& orphans, Output output) {
  if (output == Output::kJson) return base::to_pretty_text({{"would_release", to_json(orphans)}});
  if (orphans.empty()) return "nothing to release\n";
  std::string text;
  for (const hook::Lease& lease : orphans) {
    text += str("would release lease ", lease.id, " of container ", lease.container, "\n");
  }
  return text;
}

std::string reconciled_text(const hook::Reconciled& reconciled, Output output) {
  if (output == Output::kJson) {
    Json json = {{"released", reconciled.released}, {"obstacles", Json::array()}};
    for (const base::Error& obstacle : reconciled.obstacles) {
      json["obstacles"].push_back(obstacle.message());
    }
    return base::to_pretty_text(json);
  }
  std::string text;
  for (const std::string& id : reconciled.released) text += str("released lease ", id, "\n");
  return text.empty() && reconciled.obstacles.empty() ? "nothing to release\n" : text;
}

}  // namespace ipuctl
