// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/partition_view.h"

#include <algorithm>
#include <set>

#include "base/names.h"
#include "base/text.h"
#include "hook/fleet/grants.h"
#include "hook/fleet/warm.h"
#include "hook/lifecycle/partitions/fleet_claims.h"

namespace ipuctl {
namespace {

using namespace base::names;

// Returns whether a partition of the pool NAME, which is from SOURCE, is one of POOL's. Pools may
// share one V-IPU controller, whose partition names are unique. A local pool has names of its own.
bool is_from(const hook::config::PoolConfig& pool, const std::string& name,
             const std::string& source) {
  const bool same_names = pool.provider == hook::config::Provider::kVipu || name == pool.name;
  return same_names && source == hook::config::source_of(pool);
}

// Adds what FLEET knows of its warm partitions of POOL.
Status add_warm(const hook::fleet::Fleet& fleet, const hook::config::PoolConfig& pool,
                std::vector<PartitionView>& views, std::vector<Error>& obstacles) {
  // In this order, one that a container takes meanwhile is in both.
  const auto warm = TRY(hook::fleet::list_warm(fleet, pool.name, obstacles));
  const auto grants = TRY(hook::fleet::list_grants(fleet, obstacles));
  for (PartitionView& view : views) {
    const std::string& id = view.partition.id;
    for (const hook::fleet::Warm& one : warm)
      if (one.name == id) view.maker = one.maker;
    for (const hook::fleet::Grant& one : grants) {
      if (one.pool != pool.name || one.partition != id) continue;
      view.maker.clear();
      view.in_fleet = true;
      if (!view.leases.empty()) continue;
      hook::fleet::Claim claim;
      claim.id = one.id;
      claim.host = one.host;
      claim.container = one.container;
      view.claims.push_back(std::move(claim));
    }
  }
  return {};
}

// Adds what the fleet knows of the partitions of POOL.
void add_fleet(hook::lifecycle::Env& env, const hook::config::PoolConfig& pool,
               const Deadline& deadline, std::vector<PartitionView>& views,
               std::vector<Error>& obstacles) {
  const auto opened = hook::lifecycle::open_fleet(env);
  if (!opened.ok()) obstacles.push_back(opened.error());
  if (!opened.ok() || !opened.value()) return;
  const auto known = hook::fleet::list_partitions(opened.value()->at(deadline), obstacles);
  if (!known.ok()) {
    obstacles.push_back(known.error());
    return;
  }
  Status added = add_warm(opened.value()->at(deadline), pool, views, obstacles);
  if (!added.ok()) obstacles.push_back(std::move(added).error());
  std::set<std::string> own;
  for (const PartitionView& view : views)
    for (const hook::ledger::Lease& lease : view.leases) own.insert({lease.id, lease.claim});
  for (const hook::fleet::PartitionView& one : known.value()) {
    for (PartitionView& view : views) {
      if (one.name.pool != pool.name || one.name.name != view.partition.id) continue;
      view.in_fleet = true;
      for (const hook::fleet::Claim& claim : one.claims)
        if (!own.contains(claim.id)) view.claims.push_back(claim);
    }
  }
}

}  // namespace

std::string_view kind_of(const PartitionView& view) {
  if (view.record) return name_of(view.record->kind);
  if (!view.leases.empty()) return "LEASE";
  if (!view.maker.empty()) return name_of(hook::ledger::PartitionKind::kWarm);
  return view.in_fleet ? "FLEET" : "OTHER";
}

Result<std::vector<PartitionView>> list_partitions(hook::lifecycle::Env& env,
                                                   const hook::config::PoolConfig& pool,
                                                   const Deadline& deadline,
                                                   std::vector<Error>& obstacles) {
  std::vector<vipu::Partition> partitions = TRY(env.controller(pool)->list(deadline));
  const std::vector<hook::ledger::Lease> leases = TRY(env.ledger.live());
  const std::vector<hook::ledger::PartitionRecord> records = TRY(env.ledger.partitions().all());
  std::vector<PartitionView> views;
  for (vipu::Partition& partition : partitions) {
    PartitionView view{pool.name, std::move(partition), std::nullopt, {}};
    const std::string& id = view.partition.id;
    for (const hook::ledger::PartitionRecord& record : records) {
      if (record.name == id && is_from(pool, record.pool, record.source)) view.record = record;
    }
    for (const hook::ledger::Lease& lease : leases) {
      const bool has_it = lease.partition == id && is_from(pool, lease.pool, lease.controller);
      if (has_it) view.leases.push_back(lease);
    }
    views.push_back(std::move(view));
  }
  add_fleet(env, pool, deadline, views, obstacles);
  return views;
}

Result<PartitionView> get_partition(hook::lifecycle::Env& env, const hook::config::PoolConfig& pool,
                                    const std::string& name, const Deadline& deadline,
                                    std::vector<Error>& obstacles) {
  for (PartitionView& view : TRY(list_partitions(env, pool, deadline, obstacles))) {
    if (view.partition.id == name) return std::move(view);
  }
  return Error(Code::kNotFound, str("pool '", pool.name, "' has no partition ", base::quote(name),
                                    "; see 'ipuctl partition list'"));
}

}  // namespace ipuctl
