// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/repair/compare.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/names.h"
#include "base/text.h"
#include "hook/container/inject/lease_files.h"
#include "hook/lifecycle/end/effects.h"
#include "hook/lifecycle/end/release.h"
#include "hook/lifecycle/liveness.h"
#include "hook/lifecycle/liveness_scan.h"
#include "hook/lifecycle/repair/survey.h"
#include "vipu/made_name.h"

namespace hook::lifecycle::repair {
namespace {

using namespace base::names;

using Flaws = std::vector<ledger::Flaw>;

std::string named(const ledger::Lease& lease) {
  return str("lease ", lease.id, " of container ", base::short_id(lease.container));
}

// Compares what LEASE, whose container runs, must have outside the ledger.
void compare_effects(Env& env, const ledger::Lease& lease, const Survey& survey,
                     const Deadline& deadline, Flaws& flaws) {
  const std::string advice = str("stop container ", base::short_id(lease.container));
  if (!has_partition(survey, lease.pool, lease.controller, lease.partition).value_or(true)) {
    flaws.push_back({ledger::Gravity::kError,
                     str(named(lease), ": the controller has no partition '", lease.partition, "'"),
                     advice});
  }
  for (const end::Effect& effect : end::effects()) {
    if (effect.name == end::kPartition || !effect.may_have(lease)) continue;
    const Result<netns::Presence> found = effect.probe(env, lease, deadline);
    if (!found.ok()) {
      flaws.push_back({ledger::Gravity::kNote,
                       str(named(lease), ": its ", effect.name,
                           " cannot be inspected: ", found.error().message()),
                       ""});
    } else if (found.value() == netns::Presence::kGone) {
      const bool is_one = effect.name == end::kEndpoint;
      flaws.push_back({ledger::Gravity::kError,
                       str(named(lease), ": its ", effect.name, is_one ? " is gone" : " are gone"),
                       advice});
    }
  }
}

// Returns whether LEASE still is as it was read.
bool is_unchanged(Env& env, const ledger::Lease& lease) {
  const Result<std::optional<ledger::Lease>> now = env.ledger.find(lease.id);
  return now.ok() && now.value() && now.value()->generation == lease.generation;
}

Status compare_leases(Env& env, const std::vector<ledger::Lease>& leases, const Survey& survey,
                      const Deadline& deadline, Flaws& flaws) {
  std::set<std::string> orphans;
  for (const Judged& suspect : TRY(find_suspects(env, Scope()))) {
    if (suspect.judgement.life == Life::kEnded) orphans.insert(suspect.lease.id);
  }
  for (const ledger::Lease& lease : leases) {
    Flaws own;
    if (orphans.contains(lease.id)) {
      own.push_back(
          {ledger::Gravity::kNote, str(named(lease), " waits to be released"), "run 'ipuctl gc'"});
    } else if (lease.state == ledger::LeaseState::kRunning) {
      compare_effects(env, lease, survey, deadline, own);
    }
    if (is_unchanged(env, lease)) flaws.insert(flaws.end(), own.begin(), own.end());
  }
  return {};
}

Status compare_partitions(Env& env, const std::vector<ledger::Lease>& leases, const Survey& survey,
                          Flaws& flaws) {
  std::set<std::string> known;  // names of ours are given once, whichever pool has them
  for (const ledger::Lease& lease : leases) known.insert(lease.partition);
  for (const ledger::PartitionRecord& record : TRY(env.ledger.partitions().all())) {
    known.insert(record.name);
    const bool is_there =
        has_partition(survey, record.pool, record.source, record.name).value_or(true);
    // Another host of the fleet may have removed it; the next start here forgets it.
    const bool is_fleets = !record.fleet.empty();
    if (record.state != ledger::PartitionState::kReady || is_there || is_fleets) continue;
    flaws.push_back({ledger::Gravity::kError,
                     str("partition '", record.name, "' of pool '", record.pool,
                         "': the controller no longer has it"),
                     record.kind == ledger::PartitionKind::kWarm
                         ? "run 'ipuctl pool refill'"
                         : str("run 'ipuctl partition remove ", record.name, "'")});
  }
  for (const auto& [pool, partitions] : survey.partitions) {
    for (const vipu::Partition& partition : partitions.value_or(std::vector<vipu::Partition>())) {
      if (!ledger::is_reserved_name(partition.id) || known.contains(partition.id)) continue;
      const std::string what = str("partition '", partition.id, "' of pool '", pool, "'");
      if (vipu::is_of_host(partition.id, survey.host_tag)) {
        flaws.push_back({ledger::Gravity::kNote,
                         str(what, " was made by this host, but is not in its ledger"),
                         "run 'ipuctl ledger rebuild --force --claim-unclaimed'"});
      } else if (!vipu::is_unique_name(partition.id)) {
        flaws.push_back({ledger::Gravity::kNote, str(what, kUntagged), ""});
      }
    }
  }
  return {};
}

bool is_there(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

// Compares the leases' directories. They were listed before the leases: one that is gone by now was
// released in between.
void compare_files(Env& env, const std::vector<std::string>& directories,
                   const std::set<std::string>& live, Flaws& flaws) {
  for (const std::string& name : directories) {
    const std::string path = inject::lease_dir(env.run_dir, name);
    if (live.contains(name) || !is_there(path)) continue;
    flaws.push_back({ledger::Gravity::kError, str("directory ", path, " belongs to no live lease"),
                     ledger::is_lease_id(name)
                         ? "run 'ipuctl ledger rebuild --force', then 'ipuctl gc'"
                         : "remove the directory"});
  }
}

std::vector<std::string> list_kept(Env& env) {
  std::vector<std::string> names;
  std::error_code err;
  for (auto it = std::filesystem::directory_iterator(kept_namespaces(env), err);
       !err && it != std::filesystem::directory_iterator(); it.increment(err)) {
    names.push_back(it->path().filename().string());
  }
  return names;
}

void compare_kept(Env& env, const std::vector<std::string>& kept,
                  const std::set<std::string>& attachments, Flaws& flaws) {
  for (const std::string& name : kept) {
    const std::string path = str(kept_namespaces(env), '/', name);
    if (attachments.contains(name) || !is_there(path)) continue;
    flaws.push_back({ledger::Gravity::kError,
                     str("network namespace ", path, " belongs to no live lease"),
                     str("run 'umount ", path, "' and remove the file")});
  }
}

}  // namespace

Result<Flaws> compare_outside(Env& env, const std::vector<config::PoolConfig>& pools,
                              const Deadline& deadline) {
  Flaws flaws;
  const Survey survey = survey_pools(env, pools, deadline);
  for (const std::string& note : survey.notes) flaws.push_back({ledger::Gravity::kNote, note, ""});
  const std::vector<std::string> directories = TRY(inject::list_lease_dirs(env.run_dir));
  const std::vector<std::string> kept = list_kept(env);
  const std::vector<ledger::Lease> leases = TRY(env.ledger.live());
  std::set<std::string> live;
  std::set<std::string> attachments;
  for (const ledger::Lease& lease : leases) {
    live.insert(lease.id);
    attachments.insert(lease.attachment);
  }
  TRY(compare_leases(env, leases, survey, deadline, flaws));
  TRY(compare_partitions(env, leases, survey, flaws));
  compare_files(env, directories, live, flaws);
  compare_kept(env, kept, attachments, flaws);
  return flaws;
}

}  // namespace hook::lifecycle::repair
