// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/print_pool.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "cmd/ipuctl/list_text.h"
#include "vipu/placement.h"

namespace ipuctl {
namespace {

using base::Json;
using base::str;

struct Warm {
  uint32_t size = 0;
  uint32_t have = 0;
  uint32_t want = 0;
};

std::vector<Warm> warm_of(const PoolView& pool) {
  std::map<uint32_t, Warm> sizes;
  for (const auto& [size, want] : pool.config.warm) sizes[size].want = want;
  for (const auto& [size, have] : pool.warm) sizes[size].have = have;
  std::vector<Warm> list;
  for (const auto& [size, warm] : sizes) list.push_back({size, warm.have, warm.want});
  return list;
}

// Returns the warm partitions, such as "4:1/2,8:0/1": of 4 IPUs, one is ready and two are wanted.
std::string warm_text(const PoolView& pool) {
  std::string text;
  for (const Warm& warm : warm_of(pool)) {
    text += str(text.empty() ? "" : ",", warm.size, ":", warm.have, "/", warm.want);
  }
  return text.empty() ? "-" : text;
}

Json to_json(const PoolView& pool) {
  Json json = {{"pool", pool.config.name},
               {"provider", name_of(pool.config.provider)},
               {"source", hook::config::source_of(pool.config)},
               {"usage", nullptr},
               {"warm", Json::array()},
               {"drained", nullptr}};
  if (pool.drained) {
    json["drained"] = {{"since", base::rfc3339(pool.drained->since_ms)},
                       {"reason", pool.drained->reason}};
  }
  if (pool.usage) {
    json["usage"] = {{"ipus", pool.usage->total},
                     {"used", pool.usage->used},
                     {"tainted", pool.usage->tainted},
                     {"largest_free", pool.usage->largest_free}};
  }
  for (const Warm& warm : warm_of(pool)) {
    json["warm"].push_back({{"size", warm.size}, {"have", warm.have}, {"want", warm.want}});
  }
  return json;
}

}  // namespace

Usage usage_of(const vipu::Survey& survey) {
  const vipu::Occupancy occupancy = vipu::Occupancy::of(survey);
  Usage usage;
  usage.total = occupancy.topology().ipus();
  usage.tainted = static_cast<uint32_t>(survey.tainted.size());
  usage.largest_free = vipu::largest_free(occupancy);
  for (uint32_t number = 0; number < usage.total; ++number) {
    if (!occupancy.holder_of(number).empty()) ++usage.used;
  }
  return usage;
}

std::string pools_text(const std::vector<PoolView>& pools, Output output) {
  Json json = Json::array();
  const bool is_wide = output == Output::kWide;
  Rows rows = {
      {"POOL", "PROVIDER", "SOURCE", "IPUS", "USED", "TAINTED", "LARGEST-FREE", "WARM", "DRAINED"}};
  if (is_wide) rows[0].insert(rows[0].end(), {"CLUSTER", "ALLOCATION"});
  for (const PoolView& pool : pools) {
    json.push_back(to_json(pool));
    const auto number = [&](uint32_t Usage::*member) {
      return pool.usage ? str((*pool.usage).*member) : "?";
    };
    rows.push_back({pool.config.name, std::string(name_of(pool.config.provider)),
                    hook::config::source_of(pool.config), number(&Usage::total),
                    number(&Usage::used), number(&Usage::tainted), number(&Usage::largest_free),
                    warm_text(pool), pool.drained ? "yes" : "no"});
    if (is_wide)
      rows.back().insert(rows.back().end(),
                         {or_dash(pool.config.cluster), or_dash(pool.config.allocation)});
  }
  return list_text(json, rows, output);
}

std::string refilled_text(const std::vector<RefilledPool>& pools, Output output) {
  Json json = Json::array();
  std::string text;
  for (const auto& [pool, refilled] : pools) {
    Json obstacles = Json::array();
    for (const base::Error& obstacle : refilled.obstacles) obstacles.push_back(obstacle.message());
    json.push_back({{"pool", pool},
                    {"made", refilled.made},
                    {"removed", refilled.removed},
                    {"obstacles", std::move(obstacles)}});
    for (const std::string& name : refilled.removed) {
      text += str("pool ", pool, ": removed ", name, "\n");
    }
    for (const std::string& name : refilled.made)
      text += str("pool ", pool, ": created ", name, "\n");
  }
  return output == Output::kJson ? base::to_pretty_text(json) : text;
}

}  // namespace ipuctl
