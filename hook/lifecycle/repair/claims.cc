// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/repair/claims.h"

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/container/inject/lease_files.h"
#include "hook/lifecycle/liveness.h"
#include "hook/lifecycle/liveness_scan.h"
#include "netns/namespace.h"

namespace hook::lifecycle::repair {
namespace {

using namespace base::names;

using ById = std::map<std::string, ledger::Lease>;

// Returns whether RECORD is newer than ROW. The record of a container that is about to run is
// written before the row.
bool is_newer(const ledger::Lease& record, const ledger::Lease& row) {
  return record.generation > row.generation ||
         (record.generation == row.generation && record.state == ledger::LeaseState::kRunning &&
          row.state == ledger::LeaseState::kAllocated);
}

// Adds the rails that RECORD has and LEASE lacks because an index of the database was damaged.
void add_rails(const ledger::Lease& record, ledger::Lease& lease) {
  for (const ledger::RailLease& rail : record.rails) {
    const auto same = [&](const ledger::RailLease& own) { return own.interface == rail.interface; };
    if (std::none_of(lease.rails.begin(), lease.rails.end(), same)) lease.rails.push_back(rail);
  }
}

// Adds the records of the leases' directories that are newer than the database.
Status add_records(const std::string& run_dir, ById& leases, std::vector<std::string>& notes) {
  for (const std::string& name : TRY(inject::list_lease_dirs(run_dir))) {
    Result<ledger::Lease> record = inject::read_lease_record(run_dir, name);
    const auto row = leases.find(name);
    if (record.ok()) {
      if (row == leases.end() || is_newer(record.value(), row->second)) {
        leases[name] = std::move(record).take();
      } else {
        add_rails(record.value(), row->second);
      }
    } else if (row == leases.end()) {
      notes.push_back(str("directory ", inject::lease_dir(run_dir, name),
                          " belongs to an unknown lease: ", record.error().message()));
    }
  }
  return {};
}

// Returns whether the container of LEASE runs. If so, sets the owner to its first process, also if
// that is a later one.
Result<Life> life_of(Env& env, ledger::Lease& lease) {
  if (lease.state != ledger::LeaseState::kRunning) return Life::kEnded;
  const Judgement judgement = TRY(judge_lease(env, lease)).judgement;
  if (judgement.successor) lease.owner = *judgement.successor;
  return judgement.life;
}

// Returns whether the engine knows a running first process. If the record has an earlier one, the
// engine knows the present one.
bool engine_runs(ledger::Lease& lease, const std::string& boot,
                 const std::vector<EngineContainer>& engines) {
  if (lease.state == ledger::LeaseState::kReleasing || lease.boot_id != boot) return false;
  if (lease.netns == netns::Identity()) return false;
  for (const EngineContainer& container : engines) {
    if (container.lease != lease.id) continue;
    const Result<base::ProcessId> process = base::identify_process(container.pid);
    const Result<netns::Namespace> in = netns::Namespace::of_process(container.pid);
    if (!process.ok() || !in.ok() || in.value().identity() != lease.netns) continue;
    lease.state = ledger::LeaseState::kRunning;
    lease.owner = process.value();
    return true;
  }
  return false;
}

// Returns whether a container runs. Another process may have reused a pid, so an entry that also
// has the start time takes precedence.
bool is_running(const EngineContainer& container, const std::vector<EngineContainer>& engines) {
  if (container.start_time == 0 &&
      std::any_of(engines.begin(), engines.end(), [&](const EngineContainer& other) {
        return other.lease == container.lease && other.start_time != 0;
      })) {
    return false;
  }
  const Result<base::ProcessId> process = base::identify_process(container.pid);
  return process.ok() &&
         (container.start_time == 0 || process.value().start_time == container.start_time);
}

void add_unknown(const ById& leases, const std::vector<EngineContainer>& engines, Claims& claims) {
  for (const EngineContainer& container : engines) {
    if (leases.contains(container.lease) || !is_running(container, engines)) continue;
    claims.unknown.push_back(container);
    claims.notes.push_back(str("container ", base::short_id(container.container),
                               " runs with the unknown lease ", container.lease,
                               "; stop the container"));
  }
}

// Passes a partition whose holder has ended to the oldest running lease that joined it, so that the
// partition is not removed while in use.
void find_heirs(Claims& claims) {
  for (ledger::Lease& heir : claims.running) {
    if (heir.origin != ledger::Origin::kJoined) continue;
    const auto holds = [&](const ledger::Lease& other) {
      return ledger::same_gcds(other, heir) && other.origin != ledger::Origin::kJoined;
    };
    if (std::any_of(claims.running.begin(), claims.running.end(), holds)) continue;
    const auto before = std::find_if(claims.ended.begin(), claims.ended.end(), holds);
    // The maker of any other partition is unknown, so it must not be reset or removed.
    heir.origin =
        ledger::is_reserved_name(heir.partition) ? ledger::Origin::kOwn : ledger::Origin::kForeign;
    if (before == claims.ended.end()) continue;
    heir.origin = before->origin;
    heir.claim = before->claim;
    heir.fleet = before->fleet;
    before->origin = ledger::Origin::kJoined;
    before->claim.clear();
  }
}

// Adds LEASE to the ended ones. A process that waits or starts now has the old file open and fails
// with its next change. What it made by then is released when it has ended.
void add_ended(ledger::Lease lease, Claims& claims) {
  if (lease.state == ledger::LeaseState::kIntent || lease.state == ledger::LeaseState::kAllocated) {
    lease.error = "the ledger was rebuilt while the container was being started";
  }
  lease.state = ledger::LeaseState::kReleasing;
  ++lease.generation;
  if (lease.origin == ledger::Origin::kJoined) lease.devices.clear();
  claims.ended.push_back(std::move(lease));
}

void sort_by_age(std::vector<ledger::Lease>& leases) {
  std::sort(leases.begin(), leases.end(), [](const ledger::Lease& a, const ledger::Lease& b) {
    return a.created_ms < b.created_ms;
  });
}

}  // namespace

Result<Claims> judge_claims(Env& env, ledger::Salvaged salvaged,
                            const std::vector<EngineContainer>& engines) {
  const std::string boot = TRY(base::boot_id());
  Claims claims;
  claims.partitions = std::move(salvaged.partitions);
  ById leases;
  for (ledger::Lease& lease : salvaged.leases) {
    const std::string id = lease.id;
    leases[id] = std::move(lease);
  }
  TRY(add_records(env.run_dir, leases, claims.notes));
  add_unknown(leases, engines, claims);
  for (auto& [id, lease] : leases) {
    const Life life = TRY(life_of(env, lease));
    if (life != Life::kEnded || engine_runs(lease, boot, engines)) {
      claims.running.push_back(std::move(lease));
    } else {
      add_ended(std::move(lease), claims);
    }
  }
  sort_by_age(claims.running);
  sort_by_age(claims.ended);
  find_heirs(claims);
  return claims;
}

}  // namespace hook::lifecycle::repair
