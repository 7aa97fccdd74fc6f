// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/dry_run.h"

#include <algorithm>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/print_partition.h"
#include "hook/lifecycle/env.h"
#include "vipu/placement.h"

namespace ipuctl {
namespace {

using namespace base::names;
using base::Json;

// Returns the place in POOL of the IPU that a request calls ASKED. A request names a PCIe card by
// its number.
vipu::IpuPlace place_in(const hook::config::PoolConfig& pool, const vipu::IpuPlace& asked) {
  if (pool.provider != hook::config::Provider::kPcie) return asked;
  for (uint32_t group = 0; group < pool.groups.size(); ++group) {
    const std::vector<uint32_t>& cards = pool.groups[group];
    const auto card = std::find(cards.begin(), cards.end(), asked.ipu);
    if (card != cards.end()) return {group, static_cast<uint32_t>(card - cards.begin())};
  }
  return {pool.groups.empty() ? 0 : UINT32_MAX, asked.ipu};
}

// Returns why the named IPUs are not available now; empty if they are.
Result<std::string> find_obstacle(const vipu::Occupancy& occupancy,
                                  const hook::config::PoolConfig& pool,
                                  const std::vector<vipu::ChosenIpu>& ipus) {
  for (const vipu::ChosenIpu& ipu : ipus) {
    const std::string name = str("IPU ", ipu.place.domain, "/", ipu.place.ipu);
    const std::optional<uint32_t> number =
        occupancy.topology().number_of(place_in(pool, ipu.place));
    if (!number) return Error(Code::kInvalid, str("pool '", pool.name, "' has no ", name));
    const std::string& holder = occupancy.holder_of(*number);
    if (!holder.empty()) return str(name, " is held by partition ", base::quote(holder));
    const std::string& taint = occupancy.taint_of(*number);
    if (!taint.empty()) return str(name, " is tainted: ", taint);
  }
  return std::string();
}

// Returns why there is no room for WANTED now; empty if there is room.
Result<std::string> find_shortage(const vipu::Survey& survey,
                                  const hook::lifecycle::partitions::NewPartition& wanted) {
  const vipu::PartitionRequest& request = wanted.request;
  for (const vipu::Partition& partition : survey.partitions) {
    if (partition.id != request.id) continue;
    return Error(Code::kExists, str("partition ", base::quote(request.id),
                                    " already exists; see 'ipuctl partition list'"));
  }
  const vipu::Occupancy occupancy = vipu::Occupancy::of(survey);
  if (!request.ipus.empty()) return find_obstacle(occupancy, wanted.pool, request.ipus);
  const vipu::Wanted block{request.size, request.segments};
  TRY(vipu::check_wanted(occupancy.topology(), block));
  if (vipu::place(occupancy, block)) return std::string();
  return vipu::to_text(vipu::why_not(occupancy, block), block);
}

// Returns what REQUEST asks for, without what it leaves to the controller.
Json to_json(const vipu::PartitionRequest& request) {
  Json json = {{"partition", request.id}, {"size", request.size}};
  const auto add_number = [&](const char* key, uint32_t value) {
    if (value != 0) json[key] = value;
  };
  const auto add_text = [&](const char* key, const std::string& value) {
    if (!value.empty() && value != "DEFAULT") json[key] = value;
  };
  add_text("allocation", request.allocation);
  add_text("cluster", request.cluster);
  add_number("gcds", request.gcds);
  add_number("replicas", request.replicas);
  add_number("segments", request.segments);
  add_text("link_routing", vipu::name_of(request.link_routing));
  add_text("gateway_routing", vipu::name_of(request.gateway_routing));
  add_text("sync_type", vipu::name_of(request.sync));
  std::vector<vipu::IpuPlace> places;
  for (const vipu::ChosenIpu& ipu : request.ipus) places.push_back(ipu.place);
  if (!places.empty()) json["ipus"] = places_text(places);
  if (request.reconfigurable) json["reconfigurable"] = true;
  if (request.disable_auto_reset) json["disable_auto_reset"] = true;
  if (request.relocatable) json["relocatable"] = true;
  return json;
}

std::string dry_run_text(const hook::lifecycle::partitions::NewPartition& wanted,
                         const std::string& shortage, Output output) {
  Json json = to_json(wanted.request);
  json["pool"] = wanted.pool.name;
  json["shared"] = wanted.shared;
  json["room"] = shortage.empty();
  if (!shortage.empty()) json["shortage"] = shortage;
  if (output == Output::kJson) return base::to_pretty_text(json);
  Rows rows;
  for (const auto& [key, value] : json.items()) {
    if (key == "partition" || key == "shortage") continue;
    rows.push_back(
        {str("  ", key), value.is_string() ? value.get<std::string>() : base::to_text(value)});
  }
  return str("would create partition (", wanted.request.id, "):\n", table(rows));
}

}  // namespace

Result<Outcome> dry_run(const hook::lifecycle::partitions::NewPartition& wanted, Output output) {
  TRY(hook::lifecycle::partitions::check_partition(wanted));
  hook::ledger::Ledger ledger = TRY(read_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  const vipu::Survey survey = TRY(env.controller(wanted.pool)->survey(query_deadline()));
  const std::string shortage = TRY(find_shortage(survey, wanted));
  Outcome outcome{dry_run_text(wanted, shortage, output)};
  if (!shortage.empty()) {
    outcome.obstacles.emplace_back(Code::kBusy, str("pool '", wanted.pool.name, "': ", shortage));
  }
  return outcome;
}

}  // namespace ipuctl
