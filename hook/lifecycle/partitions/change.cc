// SPDX-License-Identifier: Apache-2.0
// How an operator adopts, resets and removes a partition.
#include "base/names.h"
#include "base/text.h"
#include "hook/container/plan/plan.h"
#include "hook/lifecycle/partitions/fleet_claims.h"
#include "hook/lifecycle/partitions/fleet_grants.h"
#include "hook/lifecycle/partitions/lookup.h"
#include "hook/lifecycle/partitions/ownership.h"
#include "hook/lifecycle/partitions/partitions.h"

namespace hook::lifecycle::partitions {
namespace {

using namespace base::names;

// Returns why there is no partition of ours with this name.
Error not_ours(Env& env, const config::PoolConfig& pool, const std::string& name,
               const Deadline& deadline) {
  const Result<vipu::Partition> listed = get_listed(*env.controller(pool), pool, name, deadline);
  if (!listed.ok()) return listed.error();
  return {Code::kDenied, str("partition ", base::quote(name), " of pool '", pool.name,
                             "' was not created by ipuctl on this host; use the tool that"
                             " created it")};
}

// Returns the IPUs of all GCDs, which have equally many.
Result<std::vector<ledger::LeasedIpu>> ipus_of(const vipu::Grant& grant) {
  const size_t each = grant.gcds.empty() ? 0 : grant.gcds.front().devices.size();
  if (each == 0) return Error(Code::kInternal, "the controller reports no IPUs for it");
  const auto all = static_cast<uint32_t>(each * grant.gcds.size());
  return TRY_CTX("its GCDs", plan::leased_ipus(grant.gcds, all));
}

// Returns the live lease that made NAME for itself, if there is one.
Result<std::optional<ledger::Lease>> own_lease(Env& env, const config::PoolConfig& pool,
                                               const std::string& name) {
  for (ledger::Lease& lease : TRY(env.ledger.partitions().holders(pool.name, name))) {
    if (lease.origin == ledger::Origin::kOwn) return std::optional<ledger::Lease>(std::move(lease));
  }
  return std::optional<ledger::Lease>();
}

Error belongs_to(const ledger::Lease& lease) {
  return {Code::kBusy,
          str("partition ", base::quote(lease.partition), " was created for container ",
              base::short_id(lease.container), " and is in use; stop the container")};
}

Result<ledger::PartitionRecord> get_record(Env& env, const config::PoolConfig& pool,
                                           const std::string& name, const Deadline& deadline) {
  std::optional<ledger::PartitionRecord> record =
      TRY(env.ledger.partitions().find(pool.name, name));
  if (!record || record->fleet.empty()) {
    const Status learned = learn_begun(env, pool, name, deadline);
    // An adopted one is this host's to forget, whatever the fleet has by its name.
    const bool is_adopted = record && record->kind == ledger::PartitionKind::kForeign;
    const bool is_others = !learned.ok() && learned.error().code() == Code::kExists;
    if (!is_adopted || !is_others) TRY(learned);
    record = TRY(env.ledger.partitions().find(pool.name, name));
  }
  if (record) return std::move(*record);
  const std::optional<ledger::Lease> lease = TRY(own_lease(env, pool, name));
  if (lease) return belongs_to(*lease);
  return not_ours(env, pool, name, deadline);
}

Status check_idle(const ledger::PartitionRecord& record) {
  if (!is_held(record, TRY(base::boot_id()))) return {};
  return Error(Code::kBusy,
               str("partition ", base::quote(record.name), " is being ",
                   record.state == ledger::PartitionState::kIntent ? "created" : "removed",
                   " by process ", record.owner.pid, "; try again when it is done"));
}

// Opens the fleet of RECORD, if it is a fleet's.
Result<std::optional<OpenFleet>> fleet_of(const Env& env, const ledger::PartitionRecord& record) {
  if (record.fleet.empty()) return std::optional<OpenFleet>();
  return std::optional<OpenFleet>(TRY(open_fleet(env, record.fleet)));
}

fleet::Takes takes(vipu::Force force) {
  return force == vipu::Force::kYes ? fleet::Takes::kOwn : fleet::Takes::kNone;
}

// Removes the record of an adopted partition.
Status forget_adopted(Env& env, const std::optional<OpenFleet>& fleet,
                      const ledger::PartitionRecord& record, const Deadline& deadline) {
  if (!fleet) return env.ledger.partitions().forget(record);
  const fleet::PartitionName name{record.pool, record.name};
  const std::string& me = env.ledger.host().tag();
  TRY(begin_shared_removal(env, *fleet, record, fleet::Takes::kNone, deadline));
  const Status forgotten = env.ledger.partitions().forget(record);
  if (forgotten.ok()) return fleet::finish_removal(fleet->at(deadline), name, me);
  TRY(fleet::cancel_removal(fleet->at(deadline), name, me));
  return forgotten;
}

// Fails with kExists if the partition of RECORD was adopted already, on any host.
Status check_not_adopted(Env& env, const ledger::PartitionRecord& record) {
  const auto row = TRY(env.ledger.partitions().find(record.pool, record.name));
  const bool is_adopted = row && row->kind == ledger::PartitionKind::kForeign &&
                          row->state == ledger::PartitionState::kReady;
  if (!is_adopted) return {};
  return Error(Code::kExists,
               str("partition ", quote(record.name), " of pool ", quote(record.pool),
                   " was adopted already; see 'ipuctl partition show ", record.name, "'"));
}

// Forgets that record.
Status forget_unsure(Env& env, const std::string& pool, const std::string& name) {
  const auto left = TRY(find_unsure(env, pool, name));
  return left ? env.ledger.partitions().finish_removal(*left) : Status();
}

}  // namespace

Status adopt_partition(Env& env, const config::PoolConfig& pool, const std::string& name,
                       const Deadline& deadline) {
  TRY(check_name(name));
  if (pool.provider != config::Provider::kVipu) {
    return Error(Code::kUnsupported,
                 str("pool '", pool.name,
                     "' has no V-IPU controller, and so no partitions that ipuctl did not create"));
  }
  const auto controller = env.controller(pool);
  const vipu::Partition partition = TRY(get_listed(*controller, pool, name, deadline));
  if (partition.ready != vipu::ReadyState::kActive) {
    return Error(Code::kBusy,
                 str("partition ", base::quote(name), " is ", vipu::name_of(partition.ready),
                     ", and can be adopted once it is ACTIVE; see 'ipuctl partition"
                     " show'"));
  }
  const vipu::Grant grant = TRY(controller->config(name, std::nullopt, deadline));
  const std::vector<ledger::LeasedIpu> ipus =
      TRY_CTX(str("partition ", base::quote(name)), ipus_of(grant));
  ledger::PartitionRecord record;
  record.pool = pool.name;
  record.name = name;
  record.source = config::source_of(pool);
  record.ipus = static_cast<uint32_t>(ipus.size());
  record.gcds = static_cast<uint32_t>(grant.gcds.size());
  record.reconfigurable = partition.reconfigurable;
  record.created_ms = base::unix_millis();
  TRY(check_member(env));
  const std::optional<OpenFleet> fleet = TRY(open_fleet(env));
  if (!fleet) {
    TRY(forget_unsure(env, pool.name, name));
    return env.ledger.partitions().adopt(record, ipus);
  }
  TRY(learn_partition(env, pool, name, deadline));
  TRY(check_not_adopted(env, record));
  TRY(check_one_name(*fleet, record, deadline));
  record.kind = ledger::PartitionKind::kForeign;
  record.fleet = fleet->config.prefix;
  TRY(begin_making(env, *fleet, record, deadline));
  TRY(forget_unsure(env, pool.name, name));
  const fleet::PartitionName in_fleet{record.pool, record.name};
  const std::string& me = env.ledger.host().tag();
  const Status adopted = env.ledger.partitions().adopt(record, ipus);
  if (!adopted.ok()) {
    // If this fails, the fleet keeps the name for this host: it adopts the partition again, or
    // removes the name.
    TRY(fleet::forget_making(fleet->at_last(), in_fleet, me));
    return adopted;
  }
  Status told = fleet::finish_making(fleet->at_last(), in_fleet, me);
  if (told.ok()) return {};
  return std::move(told).error().wrap(
      str("partition ", quote(name), " is adopted, and 'ipuctl gc' tells the fleet"));
}

Result<std::vector<std::string>> check_change(Env& env, const config::PoolConfig& pool,
                                              const std::string& name, vipu::Force force,
                                              const Deadline& deadline) {
  const ledger::PartitionRecord record = TRY(get_record(env, pool, name, deadline));
  TRY(check_idle(record));
  const std::vector<ledger::Lease> holders = TRY(env.ledger.partitions().holders(pool.name, name));
  const bool by_force =
      force == vipu::Force::kYes && record.kind != ledger::PartitionKind::kForeign;
  if (!holders.empty() && !by_force) return ledger::in_use(name, holders);
  const std::optional<OpenFleet> fleet = TRY(fleet_of(env, record));
  if (fleet) TRY(check_claims(env, *fleet, record, takes(force), deadline));
  std::vector<std::string> containers;
  for (const ledger::Lease& lease : holders) containers.push_back(lease.container);
  return containers;
}

Result<RemovedPartition> remove_partition(Env& env, const config::PoolConfig& pool,
                                          const std::string& name, vipu::Force force,
                                          const Deadline& deadline) {
  RemovedPartition done;
  done.containers = TRY(check_change(env, pool, name, force, deadline));
  ledger::PartitionRecord record = TRY(get_record(env, pool, name, deadline));
  const std::optional<OpenFleet> fleet = TRY(fleet_of(env, record));
  if (record.kind == ledger::PartitionKind::kForeign) {
    TRY(forget_adopted(env, fleet, record, deadline));
    done.forgotten = true;
    return done;
  }
  const base::ProcessId self = TRY(base::current_process());
  const bool was_ready = record.state == ledger::PartitionState::kReady;
  TRY(env.ledger.partitions().begin_removal(record, self, force));
  const Status begun =
      fleet ? begin_shared_removal(env, *fleet, record, takes(force), deadline) : Status();
  const fleet::PartitionName in_fleet{record.pool, record.name};
  const std::string& me = env.ledger.host().tag();
  if (!begun.ok()) {
    // Its answer may have been lost. Whoever comes next finds the row last, and so waits for this.
    if (is_silence(begun.error())) (void)fleet::cancel_removal(fleet->at_last(), in_fleet, me);
    TRY(was_ready ? env.ledger.partitions().cancel_removal(record)
                  : env.ledger.partitions().note_failure(record));
    return begun.error();
  }
  const Result<base::Removed> removed =
      recorded_controller(env, record.pool, record.source)->remove(name, force, deadline);
  if (!removed.ok() && removed.error().code() == Code::kBusy) {
    // The controller refused. After any other error the outcome is unknown: whoever gave the name
    // removes it again, or reconcile() does if the name is ours.
    if (fleet) TRY(fleet::cancel_removal(fleet->at_last(), in_fleet, me));
    TRY(env.ledger.partitions().cancel_removal(record));
    const std::string hint = force == vipu::Force::kNo ? "; --force removes it" : "";
    return Error(Code::kBusy, str(removed.error().message(), hint));
  }
  if (!removed.ok()) {
    TRY(env.ledger.partitions().note_failure(record));
    return removed.error();
  }
  done.removed = removed.value();
  const Status told = fleet ? fleet::finish_removal(fleet->at_last(), in_fleet, me) : Status();
  if (!told.ok()) {
    // The command can be repeated, and gc also tells the fleet.
    TRY(env.ledger.partitions().note_failure(record));
    return told.error();
  }
  TRY(env.ledger.partitions().finish_removal(record, removed.value()));
  remove_reservation_grant(env, record);
  return done;
}

Status check_reset(Env& env, const config::PoolConfig& pool, const std::string& name,
                   const Deadline& deadline) {
  TRY(env.ledger.host().check());
  const ledger::PartitionRecord record = TRY(get_record(env, pool, name, deadline));
  if (record.kind == ledger::PartitionKind::kForeign) {
    return Error(Code::kDenied, str("partition ", base::quote(name), " of pool '", pool.name,
                                    "' was adopted, so ipuctl does not reset it; use 'vipu reset"
                                    " partition'"));
  }
  TRY(check_change(env, pool, name, vipu::Force::kNo, deadline));
  if (record.state == ledger::PartitionState::kReady) return {};
  // A request was cut short: the partition may be another host's.
  const bool is_made = record.state != ledger::PartitionState::kIntent;
  return Error(Code::kBusy,
               str("partition ", base::quote(name), " of pool '", pool.name,
                   "' may be another host's, because its ", is_made ? "removal" : "creation",
                   " here was cut short, so it is not reset; 'ipuctl gc' says what to do"));
}

Status reset_partition(Env& env, const config::PoolConfig& pool, const std::string& name,
                       vipu::Relocate relocate, const Deadline& deadline) {
  TRY(check_reset(env, pool, name, deadline));
  const ledger::PartitionRecord record = TRY(get_record(env, pool, name, deadline));
  const std::optional<OpenFleet> fleet = TRY(fleet_of(env, record));
  const auto reset = [&] {
    return recorded_controller(env, record.pool, record.source)->reset(name, relocate, deadline);
  };
  TRY(fleet ? reset_alone(env, *fleet, record, deadline, reset) : reset());
  return env.ledger.partitions().mark_reset(record);
}

}  // namespace hook::lifecycle::partitions
