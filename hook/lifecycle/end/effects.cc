// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/end/effects.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "hook/container/inject/lease_files.h"
#include "hook/lifecycle/endpoint/endpoint.h"
#include "hook/lifecycle/network/network.h"
#include "hook/lifecycle/partitions/fleet_claims.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "hook/lifecycle/recording.h"

namespace hook::lifecycle::end {
namespace {

using namespace base::names;

// ---- V-IPU endpoint

bool may_have_endpoint(const ledger::Lease& lease) { return lease.has_endpoint; }

// ---- interfaces

bool may_have_interfaces(const ledger::Lease& lease) { return lease.netns_id >= 0; }

Result<Presence> probe_interfaces(Env& env, const ledger::Lease& lease, const Deadline& deadline) {
  return network::find_interfaces(env, lease, deadline);
}

// ---- partition

bool may_have_partition(const ledger::Lease& lease) { return lease.origin == ledger::Origin::kOwn; }

Result<Presence> probe_partition(Env& env, const ledger::Lease& lease, const Deadline& deadline) {
  const auto controller = recorded_controller(env, lease.pool, lease.controller);
  const std::vector<vipu::Partition> listed = TRY(controller->list(deadline));
  const bool is_there = std::any_of(
      listed.begin(), listed.end(),
      [&](const vipu::Partition& partition) { return partition.id == lease.partition; });
  return is_there ? Presence::kThere : Presence::kGone;
}

Status undo_partition(Env& env, const ledger::Lease& lease, const Deadline& deadline) {
  const auto controller =
      record_answers(env.ledger, lease.id, recorded_controller(env, lease.pool, lease.controller));
  TRY(controller->remove(lease.partition, vipu::Force::kYes, deadline));
  return {};
}

// ---- claim

bool may_have_claim(const ledger::Lease& lease) { return !lease.claim.empty(); }

// ---- files

bool may_have_files(const ledger::Lease&) { return true; }

Result<Presence> probe_files(Env& env, const ledger::Lease& lease, const Deadline&) {
  const std::string dir = inject::lease_dir(env.run_dir, lease.id);
  struct stat status {};
  if (::lstat(dir.c_str(), &status) == 0) return Presence::kThere;
  if (errno == ENOENT || errno == ENOTDIR) return Presence::kGone;
  return base::Error::from_errno(errno, base::str("inspect ", base::quote(dir)));
}

Status undo_files(Env& env, const ledger::Lease& lease, const Deadline&) {
  TRY(inject::remove_lease_files(env.run_dir, lease.id));
  return {};
}

constexpr Effect kEffects[] = {
    {kEndpoint, may_have_endpoint, endpoint::find_endpoint, endpoint::end_endpoint, {}},
    {kInterfaces, may_have_interfaces, probe_interfaces, network::disconnect_lease, {}},
    {kPartition, may_have_partition, probe_partition, undo_partition, {kInterfaces}},
    {kClaim,
     may_have_claim,
     partitions::find_claim,
     partitions::unclaim_gcds,
     {kInterfaces, kPartition}},
    {kFiles, may_have_files, probe_files, undo_files, {}},
};

}  // namespace

std::span<const Effect> effects() { return kEffects; }

std::string counterpart(const Effect& effect, const ledger::Lease& lease) {
  if (effect.name == kPartition) return lease.controller;
  return effect.name == kClaim ? str("fleet ", lease.fleet) : "";
}

Status ask(const std::string& counterpart, Silent& silent,
           const std::function<Status()>& question) {
  if (silent.contains(counterpart))
    return Error(Code::kUnavailable, str(counterpart, " did not answer for another lease"));
  Status done = question();
  if (!counterpart.empty() && !done.ok() && partitions::is_silence(done.error()))
    silent.insert(counterpart);
  return done;
}

Result<bool> is_anothers(const Env& env, const ledger::Lease& lease, partitions::Asks asks,
                         const Deadline& deadline, Silent& silent) {
  using partitions::Removable;
  if (!partitions::has_taken(lease)) return false;
  Removable removable = Removable::kYes;
  TRY(ask(str("fleet ", lease.fleet), silent, [&]() -> Status {
    removable = TRY(partitions::may_remove(env, lease, asks, deadline));
    return {};
  }));
  return removable == Removable::kNo;
}

}  // namespace hook::lifecycle::end
