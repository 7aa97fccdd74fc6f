// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/partitions/fleet_compare.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/names.h"
#include "base/text.h"
#include "hook/fleet/grants.h"
#include "hook/fleet/warm.h"
#include "hook/lifecycle/partitions/fleet_claims.h"
#include "vipu/made_name.h"

namespace hook::lifecycle::partitions {
namespace {

using namespace base::names;
using Name = std::pair<std::string, std::string>;  // pool and partition

Error differs(std::string text) { return {Code::kInternal, str("fleet: ", std::move(text))}; }

// Returns the partitions that the controllers have, by pool. A pool that does not answer is absent.
std::map<std::string, std::set<std::string>> ask_controllers(
    Env& env, const std::vector<config::PoolConfig>& pools, const Deadline& deadline,
    std::vector<Error>& errors) {
  std::map<std::string, std::set<std::string>> have;
  for (const config::PoolConfig& pool : pools) {
    if (pool.provider != config::Provider::kVipu) continue;
    Result<std::vector<vipu::Partition>> listed = env.controller(pool)->list(deadline);
    if (!listed.ok()) errors.push_back(std::move(listed).error());
    if (!listed.ok()) continue;
    std::set<std::string>& names = have[pool.name];
    for (const vipu::Partition& one : listed.value()) names.insert(one.id);
  }
  return have;
}

void compare_controllers(const std::vector<fleet::PartitionView>& views,
                         const std::map<std::string, std::set<std::string>>& have,
                         std::vector<Error>& errors) {
  for (const fleet::PartitionView& view : views) {
    const auto pool = have.find(view.name.pool);
    const bool is_absent = view.phase == fleet::PartitionPhase::kReady && pool != have.end() &&
                           !pool->second.contains(view.name.name);
    if (!is_absent) continue;
    errors.push_back(
        differs(str("partition ", quote(view.name.name), " of pool ", quote(view.name.pool),
                    " is not at its controller: run"
                    " 'ipuctl partition remove ",
                    view.name.name, " --pool ", view.name.pool, "'")));
  }
}

Status compare_leases(Env& env, const std::string& prefix,
                      const std::vector<fleet::PartitionClaim>& claims,
                      const std::vector<fleet::Grant>& grants, std::vector<Error>& errors) {
  std::set<std::string> claimed;
  for (const fleet::PartitionClaim& one : claims) claimed.insert(one.claim.id);
  std::set<std::string> granted;
  for (const fleet::Grant& one : grants) granted.insert(one.id);
  std::set<std::string> live;
  for (const ledger::PartitionRecord& record : TRY(env.ledger.partitions().all()))
    live.insert(record.name);
  for (const ledger::Lease& lease : TRY(env.ledger.live())) {
    live.insert(lease.id);
    live.insert(lease.claim);
    const bool runs = lease.state == ledger::LeaseState::kRunning;
    const bool is_own = lease.origin == ledger::Origin::kOwn;
    const bool is_known = (is_own ? granted : claimed).contains(lease.claim);
    if (!runs || lease.claim.empty() || lease.fleet != prefix || is_known) continue;
    if (is_own) {
      errors.push_back(
          differs(str("container ", base::short_id(lease.container), " has ", lease.ipus,
                      " IPUs that the fleet does not count: run 'ipuctl gc' on this host")));
      continue;
    }
    errors.push_back(differs(str("container ", base::short_id(lease.container), " has ",
                                 ledger::gcds_text(lease), " of partition ", quote(lease.partition),
                                 " without a claim, so another host may get them: run 'ipuctl gc'"
                                 " on this host")));
  }
  for (const fleet::PartitionClaim& one : claims) {
    const bool is_lost = one.claim.host == env.ledger.host().tag() && one.claim.process.empty() &&
                         !live.contains(one.claim.id);
    if (!is_lost) continue;
    errors.push_back(differs(str("no container of this host has the claim of ",
                                 fleet::holder_text(one.claim), " of partition ",
                                 quote(one.partition.name), ": run 'ipuctl gc' on this host")));
  }
  for (const fleet::Grant& one : grants) {
    if (one.host != env.ledger.host().tag() || live.contains(one.id)) continue;
    errors.push_back(differs(str("the fleet counts ", one.ipus, " IPUs of pool ", quote(one.pool),
                                 " for this host that nothing has: run 'ipuctl gc' on this"
                                 " host")));
  }
  return {};
}

// Compares what containers of different hosts have. Two have one address if one of them outlived
// its claim: a fence, or an older copy of etcd, took the claim away.
void compare_addresses(const std::vector<fleet::PartitionClaim>& claims,
                       std::vector<Error>& errors) {
  std::map<std::pair<Name, std::string>, const fleet::Claim*> holders;
  for (const fleet::PartitionClaim& one : claims) {
    if (!one.claim.addresses) continue;
    for (const std::string& address : *one.claim.addresses) {
      const Name partition{one.partition.pool, one.partition.name};
      const auto [at, is_first] = holders.emplace(std::pair(partition, address), &one.claim);
      if (is_first || at->second->host == one.claim.host) continue;
      errors.push_back(
          differs(str("address ", address, " is that of ", fleet::holder_text(*at->second),
                      " and that of ", fleet::holder_text(one.claim), ": stop one of them")));
    }
  }
}

// Returns the names of those that are idle.
std::set<std::string> idle_of(const std::vector<fleet::Warm>& warm) {
  std::set<std::string> names;
  for (const fleet::Warm& one : warm)
    if (one.phase == fleet::WarmPhase::kIdle) names.insert(one.name);
  return names;
}

// Compares the warm partitions of fleet ID, which the store had BEFORE the controllers were asked,
// and has now. One that it does not know may be in use all the same, if etcd was restored from an
// older copy: a person decides.
void compare_warm(const std::string& id, const std::vector<fleet::Warm>& before,
                  const std::vector<fleet::Warm>& now, const std::vector<fleet::Grant>& grants,
                  const std::map<std::string, std::set<std::string>>& have,
                  std::vector<Error>& errors) {
  const std::set<std::string> idle = idle_of(before);
  std::set<std::string> known;
  for (const fleet::Warm& one : now) {
    known.insert(one.name);
    const auto pool = have.find(one.kind.pool);
    const bool is_idle = one.phase == fleet::WarmPhase::kIdle && idle.contains(one.name);
    if (!is_idle || pool == have.end() || pool->second.contains(one.name)) continue;
    errors.push_back(
        differs(str("warm partition ", quote(one.name), " of pool ", quote(one.kind.pool),
                    " is not at its controller: run 'ipuctl pool refill'")));
  }
  std::set<std::string> given;
  for (const fleet::Grant& one : grants) {
    if (one.partition.empty()) continue;
    known.insert(one.partition);
    if (given.insert(one.partition).second) continue;
    errors.push_back(
        differs(str("partition ", quote(one.partition), " of pool ", quote(one.pool),
                    " was given twice, the last time to container ", base::short_id(one.container),
                    " on host ", one.host, ": stop that container")));
  }
  const std::string tag = id.substr(0, vipu::kHostDigits);
  for (const auto& [pool, names] : have) {
    for (const std::string& name : names) {
      const bool is_ours = vipu::is_of_fleet(name) && vipu::parse_made_name(name)->host == tag;
      if (!is_ours || !known.insert(name).second) continue;
      errors.push_back(differs(
          str("partition ", quote(name), " of pool ", quote(pool),
              " is this fleet's, and etcd does not know it; run 'ipuctl ps' on each host; if none"
              " shows the partition, run Graphcore's 'vipu-admin remove partition ",
              name, "'")));
    }
  }
}

// Whether another host may have removed what RECORD is a copy of: the next start that asks for it
// forgets the copy, as learn_partition() does.
Result<bool> may_be_removed(Env& env, const ledger::PartitionRecord& record,
                            const std::map<std::string, std::set<std::string>>& have) {
  const auto pool = have.find(record.pool);
  const bool is_absent = pool != have.end() && !pool->second.contains(record.name);
  if (!is_absent && record.kind != ledger::PartitionKind::kForeign) return false;
  return TRY(env.ledger.partitions().holders(record.pool, record.name)).empty();
}

Status compare_records(Env& env, const std::string& prefix,
                       const std::vector<fleet::PartitionView>& views,
                       const std::map<std::string, std::set<std::string>>& have,
                       std::vector<Error>& errors) {
  std::set<Name> known;
  for (const fleet::PartitionView& view : views) known.insert({view.name.pool, view.name.name});
  for (const ledger::PartitionRecord& record : TRY(env.ledger.partitions().all())) {
    const bool is_ready = record.state == ledger::PartitionState::kReady;
    if (!is_ready || record.fleet != prefix || known.contains({record.pool, record.name})) continue;
    if (TRY(may_be_removed(env, record, have))) continue;
    errors.push_back(differs(
        str("this host knows partition ", quote(record.name), " of pool ", quote(record.pool),
            ", and etcd does not: import a newer copy with"
            " 'ipuctl fleet import', or end its containers on all hosts and run"
            " 'ipuctl partition remove ",
            record.name, " --pool ", record.pool, "'")));
  }
  return {};
}

Status compare(Env& env, const OpenFleet& fleet, const std::vector<config::PoolConfig>& pools,
               const Deadline& deadline, std::vector<Error>& errors) {
  // The ledger comes last: a lease that begins meanwhile has no claim before its row.
  const auto before = TRY(fleet::list_warm(fleet.at_last(), "", errors));
  const auto have = ask_controllers(env, pools, deadline, errors);
  const auto views = TRY(fleet::list_partitions(fleet.at_last(), errors));
  std::vector<Error> again;  // the same ones
  const auto claims = TRY(fleet::list_claims(fleet.at_last(), again));
  const auto warm = TRY(fleet::list_warm(fleet.at_last(), "", again));
  const auto grants = TRY(fleet::list_grants(fleet.at_last(), errors));
  for (const auto& [tenant, key] : TRY(fleet::read_shares(fleet.at_last())).unreadable) {
    if (key.starts_with(fleet::grants_prefix(fleet.config.prefix))) continue;  // is in ERRORS
    errors.push_back(differs(str("the record ", quote(key),
                                 " cannot be read: run 'ipuctl tenant"
                                 " remove ",
                                 tenant, "', then 'ipuctl tenant set ", tenant, "'")));
  }
  compare_controllers(views, have, errors);
  compare_warm(fleet.id, before, warm, grants, have, errors);
  compare_addresses(claims, errors);
  TRY(compare_leases(env, fleet.config.prefix, claims, grants, errors));
  return compare_records(env, fleet.config.prefix, views, have, errors);
}

}  // namespace

std::vector<Error> compare_fleet(Env& env, const std::vector<config::PoolConfig>& pools,
                                 const Deadline& deadline) {
  std::vector<Error> errors;
  Result<std::optional<OpenFleet>> fleet = open_fleet(env);
  if (!fleet.ok()) return {std::move(fleet).error()};
  if (!fleet.value()) return errors;
  Status compared = compare(env, *fleet.value(), pools, deadline, errors);
  if (!compared.ok()) errors.push_back(std::move(compared).error());
  return errors;
}

}  // namespace hook::lifecycle::partitions
