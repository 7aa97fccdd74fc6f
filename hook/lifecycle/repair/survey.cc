// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/repair/survey.h"

#include <algorithm>

#include "base/text.h"
#include "vipu/made_name.h"

namespace hook::lifecycle::repair {
namespace {

using base::str;

constexpr std::chrono::milliseconds kQueryTime{5000};  // for one question to a controller

// Returns what the controller SOURCE of POOL has; null if it did not answer or is no longer the
// pool's.
const std::vector<vipu::Partition>* answer(const Survey& survey, const std::string& pool,
                                           const std::string& source) {
  const auto listed = survey.partitions.find(pool);
  const bool is_current =
      std::any_of(survey.pools.begin(), survey.pools.end(), [&](const config::PoolConfig& config) {
        return config.name == pool && config::source_of(config) == source;
      });
  if (!is_current || listed == survey.partitions.end() || !listed->second) return nullptr;
  return &*listed->second;
}

const vipu::Partition* find(const Survey& survey, const std::string& pool,
                            const std::string& source, const std::string& name) {
  const std::vector<vipu::Partition>* const listed = answer(survey, pool, source);
  if (listed == nullptr) return nullptr;
  for (const vipu::Partition& partition : *listed) {
    if (partition.id == name) return &partition;
  }
  return nullptr;
}

// Names of ours are given once: whichever pool of the controller has it, it is this partition.
bool is_used(const Rebuilt& rebuilt, const std::string& pool, const std::string& name) {
  for (const std::vector<ledger::Lease>* leases : {&rebuilt.running, &rebuilt.ended}) {
    for (const ledger::Lease& lease : *leases) {
      if (lease.partition == name && (lease.pool == pool || ledger::is_reserved_name(name)))
        return true;
    }
  }
  return false;
}

bool is_recorded(const Rebuilt& rebuilt, const std::string& pool, const std::string& name) {
  return std::any_of(rebuilt.partitions.begin(), rebuilt.partitions.end(),
                     [&](const ledger::PartitionRecord& record) {
                       return record.name == name &&
                              (record.pool == pool || ledger::is_reserved_name(name));
                     });
}

void drop_lost(const Survey& survey, Rebuilt& rebuilt) {
  std::erase_if(rebuilt.partitions, [&](const ledger::PartitionRecord& record) {
    const bool is_lost =
        record.state == ledger::PartitionState::kReady &&
        !has_partition(survey, record.pool, record.source, record.name).value_or(true);
    if (is_lost) {
      rebuilt.notes.push_back(str("partition ", base::quote(record.name), " of pool '", record.pool,
                                  "': the controller no longer has it; its record was dropped"));
    }
    return is_lost;
  });
}

// Returns the record of a partition that was made in advance, from its lease and its controller.
ledger::PartitionRecord record_of(const ledger::Lease& lease, const vipu::Partition* partition) {
  ledger::PartitionRecord record;
  record.pool = lease.pool;
  record.name = lease.partition;
  record.source = lease.controller;
  if (lease.origin == ledger::Origin::kForeign) record.kind = ledger::PartitionKind::kForeign;
  record.state = ledger::PartitionState::kReady;
  record.gcds = partition != nullptr ? partition->gcds : lease.gcd + lease.gcds;
  record.ipus = partition != nullptr ? static_cast<uint32_t>(partition->ipus.size())
                                     : lease.ipus / lease.gcds * record.gcds;
  record.shared = lease.origin == ledger::Origin::kShared;
  record.reconfigurable = partition != nullptr && partition->reconfigurable;
  record.dirty = true;
  record.fleet = lease.fleet;
  record.created_ms = lease.created_ms;
  return record;
}

void add_named(const Survey& survey, Rebuilt& rebuilt) {
  for (const std::vector<ledger::Lease>* leases : {&rebuilt.running, &rebuilt.ended}) {
    for (const ledger::Lease& lease : *leases) {
      const bool is_ahead =
          lease.origin != ledger::Origin::kOwn && lease.origin != ledger::Origin::kJoined;
      if (!is_ahead || is_recorded(rebuilt, lease.pool, lease.partition)) continue;
      rebuilt.partitions.push_back(
          record_of(lease, find(survey, lease.pool, lease.controller, lease.partition)));
    }
  }
}

void add_unclaimed(const config::PoolConfig& pool, const vipu::Partition& partition, bool is_ours,
                   Unclaimed unclaimed, Rebuilt& rebuilt) {
  const std::string what =
      str("partition ", base::quote(partition.id), " of pool '", pool.name, "'");
  if (!is_ours) {
    rebuilt.notes.push_back(str(what, kUntagged));
    return;
  }
  if (unclaimed == Unclaimed::kReport) {
    rebuilt.notes.push_back(str(what,
                                " was made by this host, and nothing here claims it; claim it with"
                                " --claim-unclaimed, and 'ipuctl gc' removes it"));
    return;
  }
  ledger::PartitionRecord record;
  record.pool = pool.name;
  record.name = partition.id;
  record.source = config::source_of(pool);
  record.kind = ledger::PartitionKind::kWarm;
  record.state = ledger::PartitionState::kRemoving;  // held by no process, since it has no boot id
  record.ipus = std::max<uint32_t>(1, static_cast<uint32_t>(partition.ipus.size()));
  rebuilt.partitions.push_back(std::move(record));
}

}  // namespace

Survey survey_pools(Env& env, const std::vector<config::PoolConfig>& pools,
                    const base::Deadline& deadline) {
  Survey survey;
  survey.pools = pools;
  survey.host_tag = env.ledger.host().tag();
  for (const config::PoolConfig& pool : pools) {
    base::Result<std::vector<vipu::Partition>> listed =
        env.controller(pool)->list(deadline.capped(kQueryTime));
    if (listed.ok()) {
      survey.partitions[pool.name] = std::move(listed).take();
    } else {
      survey.partitions[pool.name] = std::nullopt;
      survey.notes.push_back(listed.error().message());
    }
  }
  return survey;
}

std::optional<bool> has_partition(const Survey& survey, const std::string& pool,
                                  const std::string& source, const std::string& name) {
  if (answer(survey, pool, source) == nullptr) return std::nullopt;
  return find(survey, pool, source, name) != nullptr;
}

void judge_partitions(const Survey& survey, Unclaimed unclaimed,
                      const std::vector<EngineContainer>& unknown, Rebuilt& rebuilt) {
  const auto is_of_unknown = [&](const std::string& name) {
    return std::any_of(unknown.begin(), unknown.end(), [&](const EngineContainer& container) {
      return ledger::is_name_for(name, container.lease);
    });
  };
  for (const std::string& note : survey.notes) {
    rebuilt.notes.push_back(str(note, "; the partitions of this controller are kept as recorded"));
  }
  drop_lost(survey, rebuilt);
  add_named(survey, rebuilt);
  for (const config::PoolConfig& pool : survey.pools) {
    const std::vector<vipu::Partition>* const listed =
        answer(survey, pool.name, config::source_of(pool));
    if (listed == nullptr) continue;
    for (const vipu::Partition& partition : *listed) {
      if (!ledger::is_reserved_name(partition.id) || is_used(rebuilt, pool.name, partition.id))
        continue;
      if (is_recorded(rebuilt, pool.name, partition.id) || is_of_unknown(partition.id)) continue;
      const bool is_ours = vipu::is_of_host(partition.id, survey.host_tag);
      if (!is_ours && vipu::is_unique_name(partition.id)) continue;
      add_unclaimed(pool, partition, is_ours, unclaimed, rebuilt);
    }
  }
}

}  // namespace hook::lifecycle::repair
