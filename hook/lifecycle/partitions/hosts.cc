// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/partitions/hosts.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/names.h"
#include "base/text.h"
#include "hook/fleet/grants.h"
#include "hook/fleet/hosts.h"
#include "hook/fleet/restored.h"
#include "hook/lifecycle/partitions/fleet_claims.h"
#include "hook/lifecycle/partitions/fleet_warm.h"
#include "hook/lifecycle/partitions/partitions.h"

namespace hook::lifecycle::partitions {
namespace {

using namespace base::names;

constexpr std::chrono::milliseconds kListTime{5000};  // for one controller

// Removes PARTITION by force. Returns whether it is gone.
bool remove_one(Env& env, const std::vector<config::PoolConfig>& pools, const MadePartition& one,
                const Deadline& deadline, std::vector<Error>& obstacles) {
  for (const config::PoolConfig& pool : pools) {
    if (pool.name != one.pool) continue;
    Result<base::Removed> removed = env.controller(pool)->remove(
        one.partition.id, vipu::Force::kYes, deadline.capped(kLongestAttempt));
    if (removed.ok()) return true;
    obstacles.push_back(std::move(removed).error());
    return false;
  }
  obstacles.emplace_back(Code::kNotFound,
                         str("partition ", quote(one.partition.id), " is of pool ", quote(one.pool),
                             ", which this host does not have: run the command on a host that has"
                             " it"));
  return false;
}

// Fails if this host cannot fence HOST.
Status check_other(const Env& env, const std::string& host) {
  TRY(env.ledger.host().check());
  if (!vipu::is_host(host)) {
    return Error(Code::kInvalid, str(quote(host),
                                     " is no host: give the 8 hexadecimal digits of one of 'ipuctl"
                                     " host list'"));
  }
  if (host == env.ledger.host().tag()) {
    return Error(Code::kInvalid, str("host ", host,
                                     " is this one, which is not dead; 'ipuctl"
                                     " drain' ends its use of IPUs"));
  }
  return {};
}

// Removes what containers of an earlier boot of this host took of the fleet's warm partitions.
Status remove_taken(Env& env, const std::vector<config::PoolConfig>& pools,
                    const Deadline& deadline, std::vector<std::string>& names,
                    std::vector<Error>& obstacles) {
  const std::optional<OpenFleet> fleet = TRY(open_fleet(env));
  if (!fleet) return {};
  for (const fleet::Grant& grant : TRY(fleet::list_grants(fleet->at(deadline), obstacles))) {
    const bool is_own = grant.host == env.ledger.host().tag() && !grant.partition.empty();
    // The ledger is asked last: each lease is there before its grant. Who inherited a partition has
    // the grant of another lease, which may be forgotten.
    if (!is_own || TRY(env.ledger.find(grant.id))) continue;
    if (TRY(env.ledger.partitions().knows(grant.partition))) continue;
    if (!vipu::is_of_fleet(grant.partition)) {
      TRY(fleet::ungrant(fleet->at(deadline), grant.pool, grant.id));
      continue;
    }
    MadePartition one{grant.pool, {}, {}};
    one.partition.id = grant.partition;
    const Removable removable =
        TRY(begin_end_of_taken(env, *fleet, grant.pool, grant.partition, grant.id, deadline));
    if (removable == Removable::kNo) continue;
    if (!remove_one(env, pools, one, deadline, obstacles)) continue;
    TRY(env.ledger.events().record(
        str("removed partition ", grant.partition, ", which this host had before this boot")));
    TRY(fleet::ungrant(fleet->at(deadline), grant.pool, grant.id));
    names.push_back(grant.partition);
  }
  return {};
}

// Tells the fleet, if this host is in one, that HOST is dead.
Status begin_in_fleet(const Env& env, const std::string& host, fleet::IfAlive if_alive,
                      const Deadline& deadline) {
  const std::optional<OpenFleet> fleet = TRY(open_fleet(env));
  if (!fleet) return {};
  const std::string& me = env.ledger.host().tag();
  return fleet::begin_fence(fleet->at(deadline), host, me, base::unix_millis(), if_alive);
}

// Returns the warm partitions of the fleet that HOST, which can have no others from here on, has.
// While another host has not told since the store went back, they may be its containers', and are
// added to UNSURE instead.
Result<std::vector<MadePartition>> warm_in_fleet(const Env& env, const std::string& host,
                                                 const Deadline& deadline,
                                                 std::vector<Error>& unsure) {
  std::vector<MadePartition> found;
  const std::optional<OpenFleet> fleet = TRY(open_fleet(env));
  if (!fleet) return found;
  const fleet::Fleet at = fleet->at(deadline);
  // Who tells makes its grants first.
  const std::string untold = TRY(fleet::untold_host_alive(at));
  for (const fleet::PartitionName& one : TRY(fleet::warm_of_host(at, host))) {
    MadePartition made{one.pool, {}, {}};
    made.partition.id = one.name;
    if (untold.empty())
      found.push_back(std::move(made));
    else
      unsure.emplace_back(Code::kBusy,
                          str("partition ", quote(one.name), " of pool ", quote(one.pool),
                              " stays: fleet: ", fleet::untold_text(untold)));
  }
  return found;
}

// Tells the fleet, if this host is in one, which then has no claim of HOST.
Status tell_fleet(const Env& env, const std::string& host, fleet::Leaves leaves,
                  const Deadline& deadline) {
  const std::optional<OpenFleet> fleet = TRY(open_fleet(env));
  if (!fleet) return {};
  const std::string& me = env.ledger.host().tag();
  return fleet::fence(fleet->at(deadline), host, me, base::unix_millis(), leaves);
}

// Returns the pools of HOST by what the fleet's store says of it: their controllers by their names.
// The controller of a pool is empty if only a grant of HOST names the pool.
Result<std::map<std::string, std::string>> pools_in_fleet(const Env& env, const std::string& host,
                                                          const Deadline& deadline) {
  std::map<std::string, std::string> pools;
  const std::optional<OpenFleet> fleet = TRY(open_fleet(env));
  if (!fleet) return pools;
  std::vector<Error> unreadable;  // 'fleet check' shows them
  for (const fleet::Grant& grant : TRY(fleet::list_grants(fleet->at(deadline), unreadable)))
    if (grant.host == host) pools[grant.pool];
  for (const fleet::HostState& one :
       TRY(fleet::list_hosts(*fleet->store, fleet->config.prefix, deadline, unreadable)))
    if (one.host.tag == host)
      for (const auto& [pool, controller] : one.host.pools) pools[pool] = controller;
  return pools;
}

// One controller may have two addresses. Hosts of a fleet call their pools alike.
bool is_controller_of(const config::PoolConfig& pool, const std::string& name,
                      const std::string& controller) {
  if (pool.provider != config::Provider::kVipu) return false;
  return pool.name == name || config::source_of(pool) == controller;
}

}  // namespace

Status check_controllers(const Env& env, const std::vector<config::PoolConfig>& pools,
                         const std::string& host, const Deadline& deadline,
                         std::vector<Error>& obstacles) {
  for (const auto& [name, controller] : TRY(pools_in_fleet(env, host, deadline))) {
    const bool is_known = std::any_of(pools.begin(), pools.end(), [&](const auto& pool) {
      return is_controller_of(pool, name, controller);
    });
    if (is_known) continue;
    obstacles.emplace_back(
        Code::kNotFound,
        str("host ", host, " may have partitions of pool ", quote(name),
            controller.empty() ? "" : str(" at controller ", controller),
            ", which this host does not have: run 'ipuctl host fence ", host,
            "' on a host that has it; if none has, or that was done, give --incomplete"));
  }
  return {};
}

std::vector<MadePartition> made_partitions(Env& env, const std::vector<config::PoolConfig>& pools,
                                           const Deadline& deadline,
                                           std::vector<Error>& obstacles) {
  std::vector<MadePartition> found;
  std::set<std::string> asked;
  for (const config::PoolConfig& pool : pools) {
    const bool is_new = asked.insert(config::source_of(pool)).second;
    if (pool.provider != config::Provider::kVipu || !is_new) continue;
    Result<std::vector<vipu::Partition>> listed =
        env.controller(pool)->list(deadline.capped(kListTime));
    if (!listed.ok()) {
      obstacles.push_back(std::move(listed).error());
      continue;
    }
    for (vipu::Partition& partition : listed.value()) {
      std::optional<vipu::MadeName> made = vipu::parse_made_name(partition.id);
      const bool is_hosts = made && made->what != vipu::MadeFor::kFleetWarm;
      if (is_hosts) found.push_back({pool.name, *std::move(made), std::move(partition)});
    }
  }
  return found;
}

Result<Fenced> find_fenced(Env& env, const std::vector<config::PoolConfig>& pools,
                           const std::string& host, const Deadline& deadline,
                           std::vector<Error>& obstacles) {
  TRY(check_other(env, host));
  Fenced fenced{host, made_partitions(env, pools, deadline, obstacles)};
  std::erase_if(fenced.partitions, [&](const MadePartition& one) { return one.made.host != host; });
  return fenced;
}

Result<std::vector<std::string>> fence_host(Env& env, const std::vector<config::PoolConfig>& pools,
                                            const std::string& host, fleet::IfAlive if_alive,
                                            const Deadline& deadline, std::vector<Error>& obstacles,
                                            Unreached unreached) {
  std::vector<std::string> names;
  TRY(check_other(env, host));
  TRY(begin_in_fleet(env, host, if_alive, deadline));
  const Fenced fenced = TRY(find_fenced(env, pools, host, deadline, obstacles));
  std::vector<Error> unsure;
  const std::vector<MadePartition> warm = TRY(warm_in_fleet(env, host, deadline, unsure));
  for (const MadePartition& one : fenced.partitions) {
    if (TRY(env.ledger.partitions().knows(one.partition.id))) {
      obstacles.emplace_back(Code::kBusy, str("partition ", quote(one.partition.id),
                                              " is in this host's own ledger, so it stays"));
    } else if (remove_one(env, pools, one, deadline, obstacles)) {
      names.push_back(one.partition.id);
    }
  }
  for (const MadePartition& one : warm) {
    const bool is_reached = std::any_of(pools.begin(), pools.end(),
                                        [&](const auto& pool) { return pool.name == one.pool; });
    if (unreached == Unreached::kLeave && !is_reached) continue;
    // A container of this host has it as well, because the store went back.
    if (!TRY(env.ledger.partitions().holders(one.pool, one.partition.id)).empty()) continue;
    if (remove_one(env, pools, one, deadline, obstacles)) names.push_back(one.partition.id);
  }
  for (const std::string& name : names)
    TRY(env.ledger.events().record(str("removed partition ", name, " of the dead host ", host)));
  // The records are all that tells of what is left at a controller that this host does not have.
  if (unreached == Unreached::kObstacle)
    TRY(check_controllers(env, pools, host, deadline, obstacles));
  if (obstacles.empty()) {
    const auto leaves = unsure.empty() ? fleet::Leaves::kNothing : fleet::Leaves::kTaken;
    Status told = tell_fleet(env, host, leaves, deadline);
    if (told.ok() && unsure.empty()) told = env.ledger.fences().add(host);
    if (!told.ok()) obstacles.push_back(std::move(told).error());
  }
  obstacles.insert(obstacles.end(), unsure.begin(), unsure.end());
  return names;
}

Result<std::vector<std::string>> remove_of_earlier_boots(
    Env& env, const std::vector<config::PoolConfig>& pools, const Deadline& deadline,
    std::vector<Error>& obstacles) {
  std::vector<std::string> names;
  if (!TRY(env.ledger.host().is_of_this_boot())) return names;
  // The ledger is asked last: each start records its partition before it asks for it.
  std::vector<Error> silent;  // others report them
  for (const MadePartition& one : made_partitions(env, pools, deadline, silent)) {
    if (one.made.host != env.ledger.host().tag()) continue;
    if (TRY(env.ledger.partitions().knows(one.partition.id))) continue;
    if (!remove_one(env, pools, one, deadline, obstacles)) continue;
    TRY(env.ledger.events().record(
        str("removed partition ", one.partition.id, ", which this host made before this boot")));
    names.push_back(one.partition.id);
  }
  Status taken = remove_taken(env, pools, deadline, names, obstacles);
  if (!taken.ok()) obstacles.push_back(std::move(taken).error());
  return names;
}

}  // namespace hook::lifecycle::partitions
